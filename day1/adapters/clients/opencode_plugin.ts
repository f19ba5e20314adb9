// Tells `day1 hook` of what happens in a session; nothing that goes wrong there reaches opencode.
import { spawn } from "node:child_process"

const CLOCK_MS = 3000

function hook(event, said) {
  return new Promise((answer) => {
    let text = ""
    try {
      const child = spawn("{program}", ["hook", event, "--client", "opencode"], {
        cwd: said.cwd,
        stdio: ["pipe", "pipe", "ignore"],
      })
      const clock = setTimeout(() => child.kill("SIGKILL"), CLOCK_MS)
      child.on("error", () => answer(""))
      child.on("close", () => {
        clearTimeout(clock)
        answer(text)
      })
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => (text += part))
      child.stdin.end(JSON.stringify(said))
    } catch {
      answer("")
    }
  })
}

function teller(cwd) {
  const primes = new Map()
  const tell = (event, sessionID, said = {}) => hook(event, { cwd, sessionID, ...said })
  const prime = (sessionID) => {
    if (!primes.has(sessionID)) primes.set(sessionID, tell("session-start", sessionID))
    return primes.get(sessionID)
  }
  const end = (sessionID) => {
    primes.delete(sessionID)
    return tell("session-end", sessionID, { reason: "deleted" })
  }
  return { tell, prime, end }
}

const words = (message) =>
  message.parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")

// OpenCode 1
async function server({ client, directory }) {
  const { tell, prime, end } = teller(directory)
  const messages = async (id) => (await client.session.messages({ path: { id } })).data ?? []

  async function turn(sessionID) {
    const all = await messages(sessionID)
    const answered = all.findLast((each) => each.info.role === "assistant")
    const asked = all.findLast((each) => each.info.role === "user" && words(each))
    if (asked) await tell("prompt", sessionID, { messageID: asked.info.id, prompt: words(asked) })
    if (answered) {
      const said = { messageID: answered.info.id, text: words(answered) }
      await tell("turn-end", sessionID, { ...said, model: answered.info.modelID })
    }
  }

  async function compacted(sessionID) {
    const summed = (await messages(sessionID)).findLast((each) => each.info.summary === true)
    const said = summed && { messageID: summed.info.id, summary: words(summed) }
    if (said) await tell("compacted", sessionID, said)
  }

  return {
    event: async ({ event }) => {
      try {
        if (event.type === "session.idle") await turn(event.properties.sessionID)
        if (event.type === "session.compacted") await compacted(event.properties.sessionID)
        if (event.type === "session.deleted") await end(event.properties.info.id)
      } catch {}
    },
    "experimental.chat.system.transform": async (input, output) => {
      const text = input?.sessionID && (await prime(input.sessionID))
      if (text) output.system.push(text)
    },
  }
}

// OpenCode 2
async function setup(ctx) {
  const { tell, prime, end } = teller(ctx.location?.directory)
  const answers = new Map()
  const told = {
    "session.text.ended": ({ sessionID, assistantMessageID, text }) =>
      answers.set(sessionID, { messageID: assistantMessageID, text }),
    "session.idle": async ({ sessionID }) => {
      if (answers.has(sessionID)) await tell("turn-end", sessionID, answers.get(sessionID))
      answers.delete(sessionID)
    },
    "session.compaction.ended": ({ sessionID, text }) => tell("compacted", sessionID, { summary: text }),
    "session.deleted": ({ sessionID }) => end(sessionID),
  }
  const over = new AbortController()

  async function listen() {
    for await (const { type, data } of ctx.event.subscribe({ signal: over.signal })) {
      await told[type]?.(data)
    }
  }

  await ctx.session.hook("prompt", async ({ sessionID, messageID, prompt }) => {
    await tell("prompt", sessionID, { messageID, prompt: prompt?.text })
  })
  for (const kind of ["context", "compaction"]) {
    await ctx.session.hook(kind, async ({ sessionID, system }) => {
      const text = await prime(sessionID)
      if (text) system.push({ type: "text", text })
    })
  }
  listen().catch(() => {})
  return () => over.abort()
}

export default { id: "day1", server, setup }
