import { respond as respondToRequest } from '../web.ts'

// In an app, this file is next to the folder `app`.
export const respond = respondToRequest
