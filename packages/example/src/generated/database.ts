// Written by "sallyport generate": change the auth definition and run that again.
import type { AddedColumns, AuthTables as CoreTables, Defaulted, Flag, NullableTimestamp, Timestamp } from '@sallyport/core/auth'

/** The columns that the auth definition adds: `openSqlite(url, { columns: authColumns })`. */
export const authColumns: AddedColumns = {
  "user": {
    "isAnonymous": {
      "type": "flag",
      "default": false
    },
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
    },
    "deviceName": {
      "type": "text"
    }
  }
}

/** Our tables for Kysely, with the columns and tables that the auth definition adds. */
export type AuthTables = Pick<CoreTables, keyof CoreTables> & {
  "emailCode": {
    "id": string
    "email": string
    "code": string
    "token": string
    "attempts": number
    "expiresAt": Timestamp
  }
  "emailCodeBrowser": {
    "id": string
    "userId": string
    "expiresAt": Timestamp
    "createdAt": Timestamp
  }
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
  "oauthCode": {
    "id": string
    "accountId": string
    "codeChallenge": string
    "amr": string
    "acr": string | null
    "remembered": Flag
    "sessionId": string | null
    "expiresAt": Timestamp
  }
  "oauthFlow": {
    "id": string
    "provider": string
    "purpose": string
    "browser": string | null
    "salt": string
    "redirectTo": string
    "errorTo": string
    "remembered": Flag
    "codeChallenge": string | null
    "userId": string | null
    "sessionId": string | null
    "version": number | null
    "personName": string | null
    "expiresAt": Timestamp
    "createdAt": Timestamp
  }
  "oauthToken": {
    "accountId": string
    "accessToken": string
    "refreshToken": string | null
    "scope": string
    "accessExpiresAt": NullableTimestamp
    "updatedAt": Timestamp
  }
  "oauthUnlinked": {
    "id": string
    "userId": string
    "provider": string
    "createdAt": Timestamp
  }
  "organization": {
    "id": string
    "name": string
    "slug": string
    "createdAt": Timestamp
  }
  "passkeyChallenge": {
    "id": string
    "expiresAt": Timestamp
  }
  "passkeyCredential": {
    "id": string
    "userId": string
    "name": string
    "publicKey": string
    "counter": number | string
    "transports": string
    "synced": Flag
    "lastUsedAt": NullableTimestamp
    "createdAt": Timestamp
  }
  "recoveryCode": {
    "id": string
    "userId": string
    "createdAt": Timestamp
  }
  "session": {
    "activeOrganizationId": string | null
    "deviceName": string | null
  }
  "totp": {
    "userId": string
    "secret": string
    "confirmedAt": NullableTimestamp
    "lastStep": number
    "createdAt": Timestamp
  }
  "trustedDevice": {
    "id": string
    "userId": string
    "createdAt": Timestamp
    "expiresAt": Timestamp
  }
  "user": {
    "isAnonymous": Defaulted<Flag>
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
