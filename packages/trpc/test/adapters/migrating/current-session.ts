import { findSession } from './old-app.ts'

export const currentSession = async (headers: Headers) => findSession(headers)
