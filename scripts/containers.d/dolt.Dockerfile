# Stands in for the vendor's image of a Dolt server: the `dolt` of this machine.
ARG BASE
FROM $BASE
COPY bin/ /usr/local/bin/
COPY lib/ /usr/local/lib/
RUN ldconfig
WORKDIR /var/lib/dolt
RUN dolt config --global --add metrics.disabled true \
 && dolt config --global --add user.name standin \
 && dolt config --global --add user.email standin@day1
VOLUME /var/lib/dolt
EXPOSE 3306
ENTRYPOINT ["dolt-entrypoint"]
