import { dictAt } from '../reports/report-columns.js';
import { oneByOne, type ReportHandler } from '../reports/report-handler.js';
import { escrowRecoveryKey } from './security-info.js';

/** The new recovery key, encrypted to the certificate that the command named. */
export const rotateFileVaultKey: ReportHandler = {
  requestType: 'RotateFileVaultKey',
  handle: oneByOne(async (report, context) => {
    const { deviceId, body } = report;
    const cms = dictAt(body, 'RotateResult')?.EncryptedNewRecoveryKey;
    if (!Buffer.isBuffer(cms) || cms.length === 0) return;
    if (await escrowRecoveryKey(deviceId, cms, context)) return;
    const about = { deviceId };
    context.warn(
      report,
      about,
      'the new recovery key is encrypted to another certificate than the server’s',
    );
  }),
};
