/**
 * Returns the files that an app of create-better-t-stack gets. Its users are in a second file of libsql:
 * `drizzle-kit push` would drop their tables, and the bundler would break another driver's native module.
 */
export const stackFiles = (databasePackage: string): Readonly<Record<string, string>> => ({
  'apps/server/src/auth.config.ts': `import { defineAuthConfig, staticJwks } from "@sallyport/core";

import { ENV } from "./env.server";

export const authConfig = defineAuthConfig({
  baseUrl: ENV.BASE_URL,
  jwks: staticJwks(ENV.JWKS),
  allowedOrigins: [ENV.CORS_ORIGIN],
});
`,
  'apps/server/src/auth.ts': `import { defineAuth } from "@sallyport/core/auth";
import { admin } from "@sallyport/core/plugins/admin";
import { emailPassword } from "@sallyport/core/plugins/email-password";

import { authConfig } from "./auth.config";
import { ENV } from "./env.server";

export default defineAuth({
  config: authConfig,
  signingKeys: ENV.SIGNING_KEYS,
  plugins: [emailPassword(), admin()],
});
`,
  'apps/server/src/auth-server.ts': `import { withAuthStore } from "@sallyport/core";
import { createAuth } from "@sallyport/core/auth";
import { openSqlite } from "@sallyport/core/sqlite";
import { createAuthContext, type HandlerContextOptions } from "@sallyport/trpc";
import { createDb } from "${databasePackage}";

import authDefinition from "./auth";
import { authConfig } from "./auth.config";
import { db } from "./services";

const users = createDb({ DATABASE_URL: process.env.AUTH_DATABASE_URL ?? "file:auth.db" });
export const auth = createAuth(authDefinition, () => openSqlite({ client: users.$client }));
const context = createAuthContext(authConfig, auth);
const authDb = withAuthStore(db, auth.store);
export const authContext = (options: HandlerContextOptions) => ({
  ...context.http(options),
  db: authDb,
});
`,
  'apps/web/src/utils/auth-client.ts': `import { createAuthClient } from "@sallyport/trpc/client";

import type { auth } from "../../../server/src/auth-server";
import { ENV } from "../env";

export const authClient = createAuthClient<typeof auth.api>({ baseUrl: ENV.VITE_SERVER_URL });
`,
})
