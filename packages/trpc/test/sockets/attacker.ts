/** An attacking socket without credentials, in a separate process. It reconnects as soon as it is closed. */
import { WebSocket } from 'ws'
import { ATTACKS, type Attack, type AttackPlan } from './attacks.ts'

/** The attack to perform. */
export interface AttackOrder {
  readonly host: string
  readonly attack: Attack
  readonly milliseconds: number
}

process.on('message', async ({ host, attack, milliseconds }: AttackOrder) => {
  const end = performance.now() + milliseconds
  let sent = 0
  while (performance.now() < end) sent += await assail(host, attack, end)
  process.send?.(sent)
})
process.once('disconnect', () => process.exit())

const pause = () => new Promise((resolve) => setTimeout(resolve, 1))

/** Attacks until the socket is closed or the time is over. Returns the number of frames sent. */
async function assail(host: string, attack: Attack, end: number): Promise<number> {
  const socket = new WebSocket(`ws://${host}`, {
    headers: { origin: 'http://localhost:3000', 'x-forwarded-for': '203.0.113.66' },
  })
  let sent = 0
  let isOver = false
  const over = new Promise<void>((resolve) => {
    socket.on('close', () => {
      isOver = true
      resolve()
    })
    setTimeout(resolve, Math.max(0, end - performance.now()))
  })
  socket.on('error', () => {})
  socket.on('open', async () => {
    const plan: AttackPlan = ATTACKS[attack]
    const { frame, reads, most = Number.POSITIVE_INFINITY } = plan
    if (!reads) socket.pause()
    for (; !isOver && sent < most && performance.now() < end; sent++) {
      socket.send(frame(sent))
      if (sent % 1_000 === 0) await pause()
      // As fast as the server reads. The queue here only affects the attacker.
      while (!isOver && socket.bufferedAmount > 256 * 1024 && performance.now() < end) await pause()
    }
  })
  await over
  socket.terminate()
  // A rejected upgrade.
  if (sent === 0) await new Promise((resolve) => setTimeout(resolve, 50))
  return sent
}
