import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'sallyport-installed-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

export const keyFile: string = join(folder, 'keys.json')
export const databaseUrl = `file:${join(folder, 'app.db')}`
export const port: number = await freePort()
export const baseUrl = `http://localhost:${port}`

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('The system gave no port')
  return address.port
}
