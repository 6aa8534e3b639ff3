/** Well-behaved clients in a separate process. Each makes one call after another. */
import { WebSocket } from 'ws'

/** The calls to make. */
export interface VisitOrder {
  readonly host: string
  readonly cookies: readonly string[]
  readonly milliseconds: number
}

/** The results. */
export interface VisitReport {
  /** How long each call took, in milliseconds. */
  readonly times: readonly number[]
  /** Calls without the expected response. */
  readonly failures: number
}

const PAUSE_MS = 10

process.on('message', async ({ host, cookies, milliseconds }: VisitOrder) => {
  const end = performance.now() + milliseconds
  const reports = await Promise.all(cookies.map((cookie, index) => visit(host, cookie, { index, end })))
  const report: VisitReport = {
    times: reports.flatMap(({ times }) => times),
    failures: reports.reduce((sum, { failures }) => sum + failures, 0),
  }
  process.send?.(report)
})
process.once('disconnect', () => process.exit())

async function visit(
  host: string,
  cookie: string,
  { index, end }: { index: number; end: number },
): Promise<VisitReport> {
  const socket = new WebSocket(`ws://${host}`, {
    headers: { cookie, origin: 'http://localhost:3000', 'x-forwarded-for': `198.51.100.${index}` },
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const times: number[] = []
  let failures = 0
  let id = 0
  let answered = (_answer: object | null): void => {}
  socket.on('message', (message) => answered(JSON.parse(String(message))))
  socket.on('close', () => answered(null))
  while (performance.now() < end) {
    const begun = performance.now()
    const answer = new Promise<object | null>((resolve) => {
      answered = resolve
    })
    socket.send(JSON.stringify({ id: ++id, method: 'query', params: { path: 'me' } }))
    const { result } = Object(await answer)
    times.push(performance.now() - begun)
    if (result === undefined) failures++
    if (socket.readyState !== WebSocket.OPEN) break
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  socket.terminate()
  return { times, failures }
}
