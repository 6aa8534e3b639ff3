import * as z from 'zod/mini'

const postedUser = z.object({
  name: z.object({ firstName: z.optional(z.string()), lastName: z.optional(z.string()) }),
})

/** Reads the name that Apple posts at the first sign-in. Null if there is none. */
export function readPostedName(user: string | undefined): string | null {
  if (user === undefined) return null
  try {
    const { firstName = '', lastName = '' } = z.parse(postedUser, JSON.parse(user)).name
    return `${firstName} ${lastName}`.trim().slice(0, 128) || null
  } catch {
    return null
  }
}
