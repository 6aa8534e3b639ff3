export const httpContext = () => ({})
export type Context = ReturnType<typeof httpContext>
