import { createQueryClient as create } from '../../ssr/hono/query-client.ts'

// In an app, this file is next to the folder `app`.
export const createQueryClient = create
