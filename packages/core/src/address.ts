export {
  addressBuckets,
  clientAddress,
  clientNetwork,
  isPrivateAddress,
  type ProxyTrust,
  trustProxies,
} from './request/address.ts'
