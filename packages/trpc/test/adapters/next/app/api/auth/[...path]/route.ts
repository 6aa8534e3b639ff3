import { answer } from '../../../../web.ts'

// Next.js does not say who has connected. Believe this header where the platform sets it and nobody reaches the server past it.
const handle = (request: Request) => answer(request, request.headers.get('x-real-ip') ?? undefined)

export { handle as GET, handle as OPTIONS, handle as POST }
