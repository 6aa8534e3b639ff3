// Types of packages that documents use and the workspace doesn't install: `declare module 'name' { ... }`.
// An import or export in this file would turn each of them into an augmentation, which fails.

declare module 'expo-secure-store' {
  export function getItemAsync(key: string): Promise<string | null>
  export function setItemAsync(key: string, value: string): Promise<void>
  export function deleteItemAsync(key: string): Promise<void>
}

declare module 'expo-linking' {
  export function addEventListener(type: 'url', handler: (event: { url: string }) => void): object
  export function getInitialURL(): Promise<string | null>
}

declare module '@opentelemetry/sdk-node' {
  export class NodeSDK {
    constructor(options?: { serviceName?: string })
    start(): void
    shutdown(): Promise<void>
  }
}

declare module '@tanstack/react-query-persist-client' {
  interface PersistedClient {
    timestamp: number
    buster: string
    clientState: import('@tanstack/react-query').DehydratedState
  }
  export interface Persister {
    persistClient(stored: PersistedClient): void | Promise<void>
    restoreClient(): undefined | PersistedClient | Promise<undefined | PersistedClient>
    removeClient(): void | Promise<void>
  }
  export function PersistQueryClientProvider(props: {
    client: import('@tanstack/react-query').QueryClient
    persistOptions: { persister: Persister; buster: string }
    onSuccess: () => Promise<unknown>
    children: import('react').ReactNode
  }): import('react').ReactNode
}

declare module 'react-native' {
  export const Alert: { alert(title: string): void }
  export const AppState: { addEventListener(type: 'change', listener: (state: string) => void): object }
}

declare const Bun: {
  serve(options: {
    fetch(
      request: Request,
      server: { requestIP(request: Request): { address: string } | null },
    ): Promise<Response>
  }): { stop(closeActiveConnections?: boolean): Promise<void> }
}

declare const Deno: {
  serve(
    options: { port: number },
    handler: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response>,
  ): { shutdown(): Promise<void> }
  exit(): never
}

declare module 'pino' {
  export default function pino(options: {
    redact: string[]
  }): Record<'error' | 'info', (details: object, message: string) => void>
}
