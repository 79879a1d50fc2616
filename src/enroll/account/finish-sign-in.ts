import type { Response } from 'express';
import { admitAccount } from './admission.js';
import type { AccountServices } from './services.js';

/** Sends the device on with a token for whoever has signed in. AppError 403 for the unwelcome. */
export async function finishSignIn(
  res: Response,
  account: string,
  services: AccountServices,
): Promise<void> {
  const mode = await admitAccount(services, account);
  const token = services.tokens.issue({ account, mode });
  services.logger.info({ account, mode }, 'a user has signed in to enroll a device');
  services.sessions.end(res);
  // The status that Apple names; what is permanent would be kept without `no-store`.
  res.status(308).setHeader('Cache-Control', 'no-store');
  res.setHeader(
    'Location',
    `apple-remotemanagement-user-login://authentication-results?access-token=${token}`,
  );
  res.end();
}
