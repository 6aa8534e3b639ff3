import type { Replacement } from '../edits.ts'
import { mountHono } from './mount-hono.ts'
import {
  LISTENER,
  LISTENER_IMPORT,
  type Mounting,
  mayStart,
  mountSockets,
  OPTIONS,
  ourImport,
  type Sockets,
  startLines,
} from './mounting.ts'

/** A call that mounts tRPC on a server. */
export const ADAPTER: RegExp =
  /\b(createHTTPServer|createHTTPHandler|createExpressMiddleware|trpcServer|fetchRequestHandler)\(\{|\.register\((fastifyTRPCPlugin),/

/** Names that would clash with ours, and options that would override ours. */
const CLASHES = /\b(?:auth|authConfig|listener|drain|responseMeta|verifyClient)\b/

const MOUNTINGS: Readonly<Record<string, (text: string) => Mounting | null>> = {
  createHTTPServer: mountStandalone,
  createHTTPHandler: mountHandler,
  createExpressMiddleware: mountExpress,
  fastifyTRPCPlugin: mountFastify,
  trpcServer: mountHono,
  fetchRequestHandler: mountHono,
}

/** Returns how to mount the auth endpoints on a server; null if it doesn't follow tRPC's documentation. */
export function mountServer(text: string): Mounting | null {
  if (CLASHES.test(text.replaceAll(/^\s*(?:\/\/|import ).*$/gm, ''))) return null
  const [, name, plugin] = ADAPTER.exec(text) ?? []
  const mounting = MOUNTINGS[name ?? plugin ?? '']?.(text)
  if (!mounting || !mayStart(text, mounting)) return null
  if (!text.includes('SIGTERM')) return mounting
  return { ...mounting, replacements: [CLOSE, ...mounting.replacements] }
}

/** `drain` does more. */
const CLOSE: Replacement = [/^ *process\.\w+\((['"])SIGTERM\1, \(\) => \w+\.close\(\)\);?\n?/gm, '']

/** Mounts the auth endpoints on a separate listener, beside the app's adapter. */
function besideAdapter(sockets: Sockets, replacements: readonly Replacement[]): Mounting {
  return {
    replacements: [...replacements, ...sockets.replacements],
    imports: [LISTENER_IMPORT, ourImport('authHandlerOptions, authResponseMeta', sockets)],
  }
}

function mountStandalone(text: string): Mounting | null {
  const sockets = mountSockets(text)
  const server = /^ *(?:export )?const (\w+) = createHTTPServer\(/m.exec(text)?.[1] ?? 'server'
  if (/\bmiddleware\b/.test(text)) return null
  return besideAdapter(sockets, [
    [
      /^( *)(export )?(?:const \w+ = )?createHTTPServer\(\{(\s*)/gm,
      `$1const listener = ${LISTENER};\n${startLines({ server, sockets: sockets.name })}$1$2const ${server} = createHTTPServer({$3${OPTIONS.replaceAll('$2', '$3')}middleware: (req, res, next) =>$3  req.url?.startsWith('/api/auth/') ? void listener(req, res) : next(),$3`,
    ],
  ])
}

function mountHandler(text: string): Mounting | null {
  const sockets = mountSockets(text)
  const server = /^ *(?:export )?const (\w+) = createServer\(\(req, res\)/m.exec(text)?.[1] ?? 'server'
  return besideAdapter(sockets, [
    [/(createHTTPHandler\(\{)(\s*)/g, `$1$2${OPTIONS}`],
    [
      /^( *)(export )?(?:const \w+ = )?createServer\((async )?\(req, res\) => \{\n( *)/gm,
      `$1const listener = ${LISTENER};\n${startLines({ server, sockets: sockets.name })}$1$2const ${server} = createServer($3(req, res) => {\n$4if (req.url?.startsWith('/api/auth/')) return void listener(req, res);\n$4`,
    ],
  ])
}

function mountExpress(text: string): Mounting | null {
  const sockets = mountSockets(text)
  const named = /^ *(?:export )?const (\w+) = (?:http\.)?(?:createServer\(app\)|app\.listen\()/m.exec(
    text,
  )?.[1]
  const listen: Replacement = [/^( *)app\.listen\(/gm, '$1const server = app.listen(']
  return besideAdapter(sockets, [
    [
      /^( *)((?:export )?const app = express\(\);?\n)/gm,
      `$1$2$1// Before parsers of bodies, because a body can be read only once.\n$1app.all(/^\\/api\\/auth\\//, ${LISTENER});\n${startLines({ server: named ?? 'server', sockets: sockets.name })}`,
    ],
    [/(createExpressMiddleware\(\{)(\s*)/g, `$1$2${OPTIONS}`],
    ...(named === undefined ? [listen] : []),
  ])
}

function mountFastify(text: string): Mounting | null {
  const app = /(\w+)\.register\(fastifyTRPCPlugin,/.exec(text)?.[1] ?? 'app'
  const plugin = /^import (\w+) from ['"]@fastify\/websocket['"]/m.exec(text)?.[1]
  const ofWs = mountSockets(text)
  if ((plugin === undefined && text.includes('useWSS')) || ofWs.name !== null) return null
  const sockets: Sockets =
    plugin === undefined
      ? ofWs
      : {
          name: `${app}.websocketServer`,
          replacements: [
            [
              new RegExp(`register\\(${plugin}\\)`, 'g'),
              `register(${plugin}, { options: webSocketOptions(authConfig) })`,
            ],
          ],
        }
  return besideAdapter(sockets, [
    [/(trpcOptions: \{)(\s*)/g, `$1$2${OPTIONS}`],
    [
      /^( *)((?:await )?\w+\.register\(fastifyTRPCPlugin,)/gm,
      `${startLines({ server: `${app}.server`, sockets: sockets.name })}$1const listener = ${LISTENER};
$1${app}.register(async (routes) => {
$1  // Fastify must not read the bodies.
$1  routes.removeAllContentTypeParsers();
$1  routes.addContentTypeParser('*', (_request, _body, done) => done(null));
$1  routes.all('/api/auth/*', (request, reply) => {
$1    reply.hijack();
$1    void listener(request.raw, reply.raw);
$1  });
$1});
$1$2`,
    ],
  ])
}
