// Types of packages that documents use and the workspace doesn't install: `declare module 'name' { ... }`.
// An import or export in this file would turn each of them into an augmentation, which fails.

declare module '@react-native-async-storage/async-storage' {
  const AsyncStorage: {
    getItem(key: string): Promise<string | null>
    setItem(key: string, value: string): Promise<void>
    removeItem(key: string): Promise<void>
  }
  export default AsyncStorage
}

declare module 'better-auth' {
  export function betterAuth(options: { database: import('pg').Pool; emailAndPassword: { enabled: true } }): {
    api: {
      getSession(options: { headers: Headers }): Promise<{ session: { id: string; userId: string } } | null>
    }
    handler(request: Request): Promise<Response>
  }
}

declare const Bun: {
  serve(options: {
    fetch(
      request: Request,
      server: { requestIP(request: Request): { address: string } | null },
    ): Promise<Response>
  }): unknown
}

declare const Deno: {
  serve(handler: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response>): unknown
}
