import forge from 'node-forge';

/**
 * RC2 in CBC mode, which OpenSSL 3 has given up and old PKCS #12 files hide their certificates
 * with. Undefined when the padding is wrong.
 */
export function decryptRc2(key: Buffer, iv: Buffer, ciphertext: Buffer): Buffer | undefined {
  const cipher = forge.rc2.createDecryptionCipher(key.toString('latin1'), key.length * 8);
  cipher.start(iv.toString('latin1'));
  cipher.update(forge.util.createBuffer(ciphertext.toString('latin1')));
  return cipher.finish() ? Buffer.from(cipher.output.getBytes(), 'latin1') : undefined;
}
