// Written by "sallyport generate": change the auth definition and run that again.
import type { AddedColumns, AuthTables as CoreTables, Defaulted, Timestamp } from '@sallyport/core/auth'

/** The columns that the auth definition adds: `openSqlite(url, { columns: authColumns })`. */
export const authColumns: AddedColumns = {
  "user": {
    "locale": {
      "type": "text",
      "default": "en"
    }
  },
  "session": {
    "activeOrganizationId": {
      "type": "text",
      "from": {
        "table": "member",
        "column": "organizationId",
        "where": {
          "organizationId": "activeOrganizationId",
          "userId": "userId"
        }
      }
    },
    "activeOrganizationRole": {
      "type": "text",
      "from": {
        "table": "member",
        "column": "role",
        "where": {
          "organizationId": "activeOrganizationId",
          "userId": "userId"
        }
      }
    }
  }
}

/** Our tables for Kysely, with the columns and tables that the auth definition adds. */
export type AuthTables = Pick<CoreTables, keyof CoreTables> & {
  "invitation": {
    "id": string
    "organizationId": string
    "email": string
    "role": string
    "token": string
    "memberId": string
    "expiresAt": Timestamp
    "createdAt": Timestamp
  }
  "knownDevice": {
    "id": string
    "device": string
    "userId": string
    "expiresAt": Timestamp
    "createdAt": Timestamp
  }
  "member": {
    "id": string
    "organizationId": string
    "userId": string
    "role": string
    "createdAt": Timestamp
  }
  "organization": {
    "id": string
    "name": string
    "slug": string
    "createdAt": Timestamp
  }
  "session": {
    "activeOrganizationId": string | null
  }
  "user": {
    "locale": Defaulted<string>
  }
  "username": {
    "userId": string
    "username": string
  }
  "verification": {
    "id": string
    "purpose": string
    "userId": string
    "email": string
    "expiresAt": Timestamp
    "createdAt": Timestamp
  }
}
