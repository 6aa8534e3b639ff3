import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { neonConfig } from '@neondatabase/serverless'
import pg from 'pg'

interface Request {
  readonly query: string
  readonly params: unknown[]
}

/** PostgreSQL's own text of each value, as Neon sends it. */
const RAW = { getTypeParser: () => (value: string) => value }

/** Serves the HTTP protocol of Neon's driver on a database of this machine: a stub of our own. */
export async function startNeonHttpStub(url: string): Promise<() => Promise<void>> {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  pool.on('error', () => {})
  const server = createServer(async (request, response) => {
    const { query, params }: Request = JSON.parse(await text(request))
    const rowMode = request.headers['neon-array-mode'] === 'true' ? 'array' : undefined
    const respond = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body))
    try {
      const statement = { text: query, values: params, types: RAW, ...(rowMode && { rowMode }) }
      const { command, rowCount, rows, fields } = await pool.query(statement)
      respond(200, { command, rowCount, rows, fields, rowAsArray: rowMode === 'array' })
    } catch (error) {
      respond(400, error instanceof pg.DatabaseError ? { ...error, message: error.message } : {})
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  neonConfig.fetchEndpoint = () => `http://127.0.0.1:${port}/sql`
  return async () => {
    server.closeAllConnections()
    server.close()
    await pool.end()
  }
}
