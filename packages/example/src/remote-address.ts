import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context } from 'hono'

/** Whose connection it is. */
export const remoteAddress = (c: Context): string | undefined => getConnInfo(c).remote.address
