import { respond } from '../../../web.ts'

const handle = (request: Request) =>
  respond(request, { remoteAddress: request.headers.get('x-real-ip') ?? undefined })

export { handle as GET, handle as OPTIONS, handle as POST }
