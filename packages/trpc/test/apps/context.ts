/** Creates the context of HTTP and WebSocket. */
export const createContext = () => ({})
export type Context = ReturnType<typeof createContext>
