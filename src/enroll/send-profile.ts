import type { Request, Response } from 'express';
import {
  type BuildSignedDataOptions,
  buildSignedData,
  buildSignedDataLater,
} from '../crypto/cms/cms-signed-data.js';

const PROFILE_TYPE = 'application/x-apple-aspen-config';

/** Sends a profile, signed if the server has a certificate; `?signed=false` sends it unsigned. */
export function sendProfile(
  { req, res }: { req: Request; res: Response },
  { profile, filename }: { profile: Buffer; filename: string },
  { signer }: { signer: () => ProfileSigner | undefined },
): void {
  const current = req.query.signed === 'false' ? undefined : signer();
  res.setHeader('Content-Type', PROFILE_TYPE);
  res.setHeader('Content-Disposition', `attachment; filename="${filename}"`);
  res.setHeader('Cache-Control', 'no-store');
  res.end(current === undefined ? profile : current.sign(profile));
}

/** A query parameter that occurs once; undefined if it is absent or empty. */
export function queryText(req: Request, name: string): string | undefined {
  const value = req.query[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Signs profiles for devices. */
export class ProfileSigner {
  readonly #signer: BuildSignedDataOptions['signer'];
  readonly #chain: NonNullable<BuildSignedDataOptions['certificates']>;

  constructor(
    signer: BuildSignedDataOptions['signer'],
    chain: BuildSignedDataOptions['certificates'] = [],
  ) {
    this.#signer = signer;
    this.#chain = chain;
  }

  /** CMS SignedData around the profile, certificates of the chain included. */
  sign(profile: Buffer): Buffer {
    return buildSignedData({ content: profile, signer: this.#signer, certificates: this.#chain });
  }

  /** The same without holding up the event loop. */
  signLater(profile: Buffer): Promise<Buffer> {
    const options = { content: profile, signer: this.#signer, certificates: this.#chain };
    return buildSignedDataLater(options);
  }
}
