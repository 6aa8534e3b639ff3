import { isAbsolute, relative, resolve } from 'node:path'
import * as z from 'zod'

/** Takes a relative path from the example, whatever the working directory. It stays relative: the path of a socket must be short. */
const inExample = (path: string) =>
  isAbsolute(path) ? path : relative('', resolve(import.meta.dirname, '..', path))

const schema = z
  .object({
    // Nothing else: a value that is misspelled must not mean development, whose passwords everyone knows.
    NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
    /** `edge` has no database and no private key of users; see edge.ts. */
    PROCESS: z.enum(['backend', 'edge']).default('backend'),
    PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
    /** Who can connect. Outside production this machine alone: everyone knows the password of an admin. */
    HOST: z.string().min(1).optional(),
    EDGE_PORT: z.coerce.number().int().min(0).max(65_535).default(3001),
    BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
    DATABASE_URL: z
      .string()
      .min(1)
      .default('file:data/example.db')
      .transform((url) =>
        /^(postgres|:memory:)/.test(url) ? url : inExample(url.replace(/^file:(\/\/)?/, '')),
      ),
    /** Public keys, a JWK Set. */
    JWKS: z.string().optional(),
    /** Private keys, a JWK Set. */
    SIGNING_KEYS: z.string().optional(),
    /** Where keys are kept outside production. */
    KEY_FILE: z.string().min(1).default('data/keys.json').transform(inExample),
    /** Public keys of services, for the backend. */
    SERVICE_JWKS: z.string().optional(),
    /** Private keys of a service, for the edge. */
    SERVICE_SIGNING_KEYS: z.string().optional(),
    /** Where keys of services are kept outside production. */
    SERVICE_KEY_FILE: z.string().min(1).default('data/service-keys.json').transform(inExample),
    /** Where the edge reaches the backend: a unix socket, and on Windows a named pipe. */
    INTERNAL_SOCKET: z
      .string()
      .min(1)
      .default(process.platform === 'win32' ? String.raw`\\.\pipe\sallyport-example` : 'data/internal.sock')
      .transform(inExample),
    /** What writes the reports. Outside production this app has one of its own. */
    REPORT_SERVICE_URL: z.url({ protocol: /^https?$/ }).optional(),
    /** How long that one takes for each of its seven steps. */
    REPORT_STEP_MS: z.coerce.number().int().min(0).default(300),
  })
  .transform((env) => ({
    ...env,
    BASE_URL: env.BASE_URL ?? `http://localhost:${env.PORT}`,
    HOST: env.HOST ?? (env.NODE_ENV === 'production' ? undefined : 'localhost'),
  }))

/** The settings of this process. */
export const env = schema.parse(process.env)

/** What a command begins with that is to start the other process for the same address. */
export const sameAddress =
  env.BASE_URL === 'http://localhost:3000' ? '' : `PORT=${env.PORT} BASE_URL=${env.BASE_URL} `

export const isProduction = env.NODE_ENV === 'production'
/**
 * Only on this machine: everyone knows the password of the demo users. `NODE_ENV` is forgotten more easily
 * than `BASE_URL`.
 */
export const hasDemoUsers =
  !isProduction && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(env.BASE_URL).hostname)
export const isEdge = env.PROCESS === 'edge'
