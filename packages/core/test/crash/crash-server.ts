// A server that the test kills: serves the auth endpoints over HTTP on the given SQLite file, and prints its
// address.
import { createServer } from 'node:http'
import { flushCompileCache } from 'node:module'
import { defineAuthConfig, staticJwks } from '@sallyport/core'
import { createAuth, defineAuth, parseSigningKeys } from '@sallyport/core/auth'
import { openSqlite } from '@sallyport/core/sqlite'
import { BASE_URL, type ServerSettings } from './server-settings.ts'

process.once('message', async ({ databasePath, signingKeys }: ServerSettings) => {
  const jwks = staticJwks(parseSigningKeys(signingKeys).publicJwks)
  const config = defineAuthConfig({ baseUrl: BASE_URL, jwks })
  const { handler } = await createAuth(defineAuth({ config, signingKeys }), await openSqlite(databasePath))
  const server = createServer(async ({ method = '', url, headers }, response) => {
    const request = new Request(`${BASE_URL}${url}`, { method, headers: Object.entries(headers).map(toText) })
    const answer = await handler(request)
    response.writeHead(answer.status)
    response.end(await answer.text())
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (typeof address === 'object') process.send?.(`http://127.0.0.1:${address?.port}`)
  })
})
// Not at exit: a killed process wouldn't run it.
flushCompileCache()
process.once('disconnect', () => process.exit())

function toText([name, value]: [string, string | string[] | undefined]): [string, string] {
  return [name, String(value)]
}
