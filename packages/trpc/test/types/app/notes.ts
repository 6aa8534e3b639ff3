import { type AuthPlugin, defineEndpoint } from '@sallyport/core/auth'
import * as z from 'zod'

/** A plugin of somebody else's, with everything that a plugin can add. */
export const notes = {
  id: 'notes',
  endpoints: {
    addNote: defineEndpoint({
      method: 'POST',
      path: '/notes/add',
      caller: 'user',
      input: z.strictObject({ text: z.string(), pinned: z.boolean().exactOptional() }),
      output: z.object({ length: z.number() }),
      run: async ({ text }) => ({ body: { length: text.length } }),
    }),
    countNotes: defineEndpoint({
      method: 'GET',
      path: '/notes/count',
      caller: 'user',
      input: z.strictObject({}),
      output: z.object({ count: z.number() }),
      run: async () => ({ body: { count: 0 } }),
    }),
  },
  userColumns: { locale: { schema: z.enum(['en', 'de']), default: 'en', input: true } },
  sessionColumns: { theme: { schema: z.string().nullable() } },
} satisfies AuthPlugin
