import { isAbsolute, relative, resolve } from 'node:path'
import * as z from 'zod'

/**
 * Resolves a path from the folder of the example. Returns a relative path: the path of a socket must be
 * short.
 */
const inExample = (path: string) =>
  isAbsolute(path) ? path : relative('', resolve(import.meta.dirname, '..', path))

const schema = z
  .object({
    // A misspelled value must not mean development, which has users with a public password.
    NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
    /** `edge` has no database and no private keys of users. See edge.ts. */
    PROCESS: z.enum(['backend', 'edge']).default('backend'),
    PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
    /** The address to listen on. Only this machine in development, where an admin has a public password. */
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
    /** The public keys, a JWK Set. */
    JWKS: z.string().optional(),
    /** The private keys, a JWK Set. */
    SIGNING_KEYS: z.string().optional(),
    /** The file for the keys in development. */
    KEY_FILE: z.string().min(1).default('data/keys.json').transform(inExample),
    /** The keys that encrypt secrets in the database: 32 bytes in base64, the first one encrypts. */
    ENCRYPTION_KEYS: z.string().optional(),
    /** The file for that key in development. */
    ENCRYPTION_KEY_FILE: z.string().min(1).default('data/encryption-key').transform(inExample),
    /** The public keys of services, for the backend. */
    SERVICE_JWKS: z.string().optional(),
    /** The private keys of a service, for the edge. */
    SERVICE_SIGNING_KEYS: z.string().optional(),
    /** The file for the keys of services in development. */
    SERVICE_KEY_FILE: z.string().min(1).default('data/service-keys.json').transform(inExample),
    /** The socket of the backend for the edge. On Windows, a named pipe. */
    INTERNAL_SOCKET: z
      .string()
      .min(1)
      .default(process.platform === 'win32' ? String.raw`\\.\pipe\sallyport-example` : 'data/internal.sock')
      .transform(inExample),
    /** The service that writes the reports. In development, a route of this app. */
    REPORT_SERVICE_URL: z.url({ protocol: /^https?$/ }).optional(),
    /** How long that route takes for each of its seven steps. */
    REPORT_STEP_MS: z.coerce.number().int().min(0).default(300),
  })
  .transform((env) => ({
    ...env,
    BASE_URL: env.BASE_URL ?? `http://localhost:${env.PORT}`,
    HOST: env.HOST ?? (env.NODE_ENV === 'production' ? undefined : 'localhost'),
  }))

/** The settings of this process. */
export const env = readEnv()

/** Stops the process with one line per wrong variable. */
function readEnv(): z.infer<typeof schema> {
  const { data, error } = schema.safeParse(process.env)
  if (data !== undefined) return data
  for (const { path, message } of error.issues) console.error(`${path.join('.')}: ${message}`)
  process.exit(1)
}

/** The variables that a command needs to start another process for the same address. */
export const sameAddress =
  env.BASE_URL === 'http://localhost:3000' ? '' : `PORT=${env.PORT} BASE_URL=${env.BASE_URL} `

export const isProduction = env.NODE_ENV === 'production'
/**
 * Only in development and only on this machine: the password of the demo users is public. `NODE_ENV` alone
 * isn't enough, because it is easy to forget.
 */
export const hasDemoUsers =
  !isProduction && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(env.BASE_URL).hostname)
export const isEdge = env.PROCESS === 'edge'
