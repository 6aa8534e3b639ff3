/**
 * Measures the memory that an idle socket, a subscription, and an SSE stream take, without a guard and with
 * one, in one process per figure: the heap and what it holds outside, after garbage collection. Prints the
 * median of three processes, and each guarded one as a multiple of the bare one.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { WebSocket } from 'ws'
import { median } from '../../../bench/compare.ts'
import { firstMessage } from '../../core/test/support/first-message.ts'
import { httpRequest } from './load.ts'
import type { Memory, MemoryReady } from './memory-server.ts'

const COUNT = Number(process.env.STREAMS ?? 1_000)
const RUNS = 3
const GOAL = 1.5

type Open = (ready: MemoryReady, cookie: string) => Promise<WebSocket | Socket>

const measured = {
  'idle socket': async ({ ports }, cookie) => openSocket(ports.ws, { cookie, path: 'greet' }),
  subscription: async ({ ports }, cookie) => openSocket(ports.ws, { cookie, path: 'stream' }),
  'SSE stream': async ({ ports }, cookie) => {
    const socket = connect(ports.http, '127.0.0.1')
    socket.write(httpRequest({ path: '/stream', cookie }))
    await once(socket, 'data')
    return socket
  },
} satisfies Record<string, Open>

for (const [name, open] of Object.entries(measured)) {
  const bare: number[] = []
  const guarded: number[] = []
  for (let run = 0; run < RUNS; run++) {
    bare.push(await kilobytes('bare', open))
    guarded.push(await kilobytes('guarded', open))
  }
  const [without, withGuard] = [median(bare), median(guarded)]
  const figures = `${without.toFixed(1)} KB bare, ${withGuard.toFixed(1)} KB guarded`
  console.log(`${name.padEnd(14)} ${figures}: ${(withGuard / without).toFixed(2)} times (at most ${GOAL})`)
}

/** Returns the memory of one connection. */
async function kilobytes(kind: 'bare' | 'guarded', open: Open): Promise<number> {
  const server = fork(new URL('memory-server.ts', import.meta.url), [kind, String(COUNT)], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ready = await firstMessage<MemoryReady>(server)
  const [first = '', ...cookies] = ready.cookies
  // The first connection loads code.
  const opened = [await open(ready, first)]
  const before = await memoryOf(server)
  for (const cookie of cookies) opened.push(await open(ready, cookie))
  const after = await memoryOf(server)
  for (const each of opened) 'terminate' in each ? each.terminate() : each.destroy()
  server.kill()
  return (after.bytes - before.bytes) / cookies.length / 1024
}

async function openSocket(port: number, { cookie, path }: { cookie: string; path: string }) {
  const headers = { cookie, origin: 'http://localhost:3000' }
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers })
  await once(socket, 'open')
  const method = path === 'stream' ? 'subscription' : 'query'
  socket.send(JSON.stringify({ id: 1, method, params: { path } }))
  const [response] = await once(socket, 'message')
  if (String(response).includes('"error"')) throw new Error(String(response))
  return socket
}

async function memoryOf(server: ChildProcess): Promise<Memory> {
  server.send('memory')
  const [memory] = await once(server, 'message')
  return memory
}
