import { generateKeyPairSync, sign } from 'node:crypto'

/** For unit tests: a certificate for one name, signed by its own key, so that it is also the authority to trust. */
export function throwawayCertificate(dnsName: string): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // ecdsa-with-SHA256, commonName, subjectAltName
  const algorithm = sequence(der(0x06, '2a8648ce3d040302'))
  const name = sequence(der(0x31, sequence(der(0x06, '550403'), der(0x0c, Buffer.from(dnsName)))))
  const alternatives = sequence(der(0x82, Buffer.from(dnsName)))
  const content = sequence(
    der(0xa0, der(0x02, '02')),
    der(0x02, '01'),
    algorithm,
    name,
    sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(der(0x06, '551d11'), der(0x04, alternatives)))),
  )
  const signature = der(0x03, '00', sign('sha256', content, privateKey))
  const base64 = sequence(content, algorithm, signature).toString('base64')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

/** One element of ASN.1; text is hex. */
function der(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)))
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
