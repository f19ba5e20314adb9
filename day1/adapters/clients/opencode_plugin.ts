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

const words = (message) =>
  message.parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")

export const Day1 = async ({ client, directory }) => {
  const primes = new Map()
  const tell = (event, sessionID, said = {}) => hook(event, { cwd: directory, sessionID, ...said })
  const prime = (sessionID) => {
    if (!primes.has(sessionID)) primes.set(sessionID, tell("session-start", sessionID))
    return primes.get(sessionID)
  }

  async function turn(sessionID) {
    const { data = [] } = await client.session.messages({ path: { id: sessionID } })
    const answered = data.findLast((each) => each.info.role === "assistant")
    const asked = data.findLast((each) => each.info.role === "user")
    if (asked) await tell("prompt", sessionID, { messageID: asked.info.id, prompt: words(asked) })
    if (answered) {
      const said = { messageID: answered.info.id, text: words(answered) }
      await tell("turn-end", sessionID, { ...said, model: answered.info.modelID })
    }
  }

  return {
    event: async ({ event }) => {
      try {
        if (event.type === "session.idle") await turn(event.properties.sessionID)
        if (event.type === "session.deleted") {
          primes.delete(event.properties.info.id)
          await tell("session-end", event.properties.info.id, { reason: "deleted" })
        }
      } catch {}
    },
    "experimental.chat.system.transform": async (input, output) => {
      const text = input?.sessionID && (await prime(input.sessionID))
      if (text) output.system.push(text)
    },
    "experimental.session.compacting": async (input, output) => {
      const text = await tell("compacting", input.sessionID)
      if (text) output.context.push(text)
    },
  }
}
