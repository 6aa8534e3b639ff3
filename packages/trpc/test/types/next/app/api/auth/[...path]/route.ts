import { auth } from '../../../../auth-server.ts'

// Next.js does not say who has connected. This header may be believed where the platform sets it and nobody reaches the server past it.
const handle = (request: Request) =>
  auth.handler(request, { remoteAddress: request.headers.get('x-real-ip') ?? undefined })

export { handle as GET, handle as OPTIONS, handle as POST }
