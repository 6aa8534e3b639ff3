import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context } from 'hono'

/** Returns the address of the connection. */
export const remoteAddress = (c: Context): string | undefined => getConnInfo(c).remote.address
