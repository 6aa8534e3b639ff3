import { createClients as create, Providers as Provide } from '../../ssr/hono/app.tsx'

// In an app, this file is next to the folder `app`.
export const createClients = create
export const Providers = Provide
