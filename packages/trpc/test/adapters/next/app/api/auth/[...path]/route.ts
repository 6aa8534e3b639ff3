import { respond } from '../../../../web.ts'

// Next.js doesn't know the connection. Read this header only if the platform sets it on every request.
const handle = (request: Request) => respond(request, request.headers.get('x-real-ip') ?? undefined)

export { handle as GET, handle as OPTIONS, handle as POST }
