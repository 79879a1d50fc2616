import { AppError } from '../../errors.js';
import { type EnrollmentSettings, readEnrollmentSettings } from '../enrollment-profile.js';
import type { EnrollServices } from '../services.js';

/**
 * By which devices enroll over the air. Nothing would bind a certificate of an external CA to the
 * exchange that it was issued in. AppError conflict 409 then, and 503 where no identity is offered.
 */
export async function readOtaSettings({
  db,
}: Pick<EnrollServices, 'db'>): Promise<EnrollmentSettings> {
  const settings = await readEnrollmentSettings(db.knex);
  const { source_type: source } = settings.scep;
  if (source === 'ExternalSCEP') {
    const message = 'enrollment over the air needs identities by the internal SCEP';
    throw new AppError('conflict', 409, `${message}: use /enroll/profile instead`);
  }
  if (source === 'InternalPKCS12') {
    throw new AppError('unavailable', 503, 'identities as PKCS#12 are not offered');
  }
  return settings;
}
