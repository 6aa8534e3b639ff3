import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type Server, type StartOptions, serve, start } from '../../../../scripts/test-apps/serve.ts'
import { freePort } from '../../../core/test/support/free-port.ts'

/** The command of Next.js that an app has. */
const commandOf = (folder: string): string => createRequire(`${folder}/`).resolve('next/dist/bin/next')

const ENV = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }

/** Runs a command of Next.js to its end, and returns its output. Throws it if the command fails. */
export async function runNext(args: readonly string[], { cwd, env }: StartOptions): Promise<string> {
  const command = [process.execPath, commandOf(cwd), ...args] as const
  const { child, output } = start(command, { cwd, env: { ...ENV, ...env } })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`next ${args.join(' ')} ended with ${code}\n${output()}`)
  return output()
}

/** Starts a server on a free port, by a command of Next.js or another script, and waits until it responds. */
export async function serveNext(
  { script, args = [] }: { script?: string; args?: readonly string[] },
  { cwd, env }: StartOptions,
): Promise<Server> {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  return serve([process.execPath, script ?? commandOf(cwd), ...args], {
    cwd,
    env: { ...ENV, ...env, PORT: `${port}`, HOSTNAME: 'localhost', BASE_URL: origin },
    url: origin,
  })
}
