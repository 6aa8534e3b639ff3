import type { Replacement } from '../edits.ts'
import { type Mounting, mountSockets, ourImport, startLines } from './mounting.ts'

/** `app.all('/trpc/*', (c) => fetchRequestHandler({ … }))` */
const FETCH =
  /^( *)(\w+)\.(?:all|use)\(\s*(['"])(\/\S*)\/\*\3,\s*(?:async )?\(c\) =>\s*fetchRequestHandler\(\{([\s\S]*?)\}\),?\s*\);?$/gm
/** `app.use('/trpc/*', trpcServer({ … }))` */
const MIDDLEWARE = /^( *)(\w+)\.use\(\s*(['"])(\/\S*)\/\*\3,\s*trpcServer\(\{([\s\S]*?)\}\),?\s*\);?$/gm

/** Replaces the adapter with `createHandler`, which knows the addresses of clients. */
export function mountHono(text: string): Mounting | null {
  const sockets = mountSockets(text)
  const isFetch = text.includes('fetchRequestHandler({')
  const server = /^ *(?:export )?const (\w+) = (?:createServer|serve)\(/m.exec(text)?.[1]
  const serve: Replacement = [/^( *)serve\(/gm, '$1const server = serve(']
  const endpoint = isFetch || /['"]\/trpc\/\*/.test(text) ? '' : " endpoint: '$4',"
  return {
    replacements: [
      [/^import \{ (?:fetchRequestHandler|trpcServer) \} from .*\n/gm, ''],
      ...(isFetch ? [[/\s*\breq: c\.req\.raw,?/g, ''] as const] : []),
      [
        isFetch ? FETCH : MIDDLEWARE,
        `$1const handle = createHandler({ auth, config: authConfig,${endpoint}$5});
${startLines({ server: server ?? 'server', sockets: sockets.name })}$1for (const path of ['/api/auth/*', '$4/*'])
$1  $2.all(path, (c) => handle(c.req.raw, { remoteAddress: getConnInfo(c).remote.address }));`,
      ],
      ...(server === undefined ? [serve] : []),
      ...sockets.replacements,
    ],
    imports: [
      "import { getConnInfo } from '@hono/node-server/conninfo';\n",
      ourImport(sockets.name === null ? 'createHandler' : 'authHandlerOptions, createHandler', sockets),
    ],
  }
}
