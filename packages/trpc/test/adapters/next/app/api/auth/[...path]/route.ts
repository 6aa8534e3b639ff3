import { respond } from '../../../../web.ts'

// Next.js doesn't pass on the connection. Your proxy must set this header on every request.
const handle = (request: Request) =>
  respond(request, { remoteAddress: request.headers.get('x-real-ip') ?? undefined })

export { handle as GET, handle as OPTIONS, handle as POST }
