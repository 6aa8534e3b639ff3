import * as z from 'zod/mini'
import { userName } from '../../endpoints/user-record.ts'

const postedUser = z.object({
  name: z.object({ firstName: z.optional(z.string()), lastName: z.optional(z.string()) }),
})

/** Reads the name that Apple posts at the first sign-in. Null if there is none, or it isn't valid. */
export function readPostedName(user: string | undefined): string | null {
  if (user === undefined) return null
  try {
    const { firstName = '', lastName = '' } = z.parse(postedUser, JSON.parse(user)).name
    return z.safeParse(userName, `${firstName} ${lastName}`.trim().slice(0, 128)).data ?? null
  } catch {
    return null
  }
}
