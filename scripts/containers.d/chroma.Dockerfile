# Stands in for the vendor's image of a Chroma server: Chroma's package, which day1's image has.
ARG BASE
ARG DAY1
FROM $DAY1 AS day1
FROM $BASE
COPY --from=day1 /opt/day1 /opt/day1
WORKDIR /data
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["/opt/day1/bin/python", "-c", "import sys; sys.argv[0] = 'chroma'; from chromadb.cli.cli import app; app()"]
CMD ["run", "--path", "/data", "--host", "0.0.0.0", "--port", "8000"]
