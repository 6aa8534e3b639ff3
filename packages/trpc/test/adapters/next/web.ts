import { answer as answerRequest } from '../web.ts'

// In an app it stands beside the folder `app`.
export const answer = answerRequest
