import * as z from 'zod'

const schema = z
  .object({
    NODE_ENV: z.string().default('development'),
    PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
    BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
    DATABASE_URL: z.string().min(1).default('file:data/example.db'),
    /** Public keys, a JWK Set. */
    JWKS: z.string().optional(),
    /** Private keys, a JWK Set. */
    SIGNING_KEYS: z.string().optional(),
    /** Where keys are kept outside production. */
    KEY_FILE: z.string().min(1).default('data/keys.json'),
  })
  .transform((env) => ({ ...env, BASE_URL: env.BASE_URL ?? `http://localhost:${env.PORT}` }))

/** The settings of this process. */
export const env = schema.parse(process.env)

export const isProduction = env.NODE_ENV === 'production'
