import { createHash } from 'node:crypto';
import { parseCertificate } from '../../crypto/x509/certificate.js';
import { byteaText, type InventoryRow } from '../../db/devices/inventory-repository.js';
import { replaceListed } from '../../db/devices/listed-inventory.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import { type ColumnMap, listRows, listScope, readColumns } from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';

const CERTIFICATE: ColumnMap = {
  CommonName: ['x509_cn', 'text'],
  IsIdentity: ['is_identity', 'boolean'],
  Data: ['der_data', 'data'],
};

/** Names and validity; {} for a certificate that cannot be parsed: devices hold malformed ones. */
function parsedColumns(der: Buffer): InventoryRow {
  try {
    const { subject, issuer, serialHex, notBefore, notAfter } = parseCertificate(der);
    return { subject, issuer, serial: serialHex, not_before: notBefore, not_after: notAfter };
  } catch {
    return {};
  }
}

function toRow(entry: PlistDict): InventoryRow {
  const row = readColumns(entry, CERTIFICATE);
  const der = row.der_data;
  if (!Buffer.isBuffer(der)) return row;
  const fingerprint = createHash('sha256').update(der).digest('hex');
  return {
    ...row,
    der_data: byteaText(der),
    fingerprint_sha256: fingerprint,
    ...parsedColumns(der),
  };
}

export const certificateList: ReportHandler = {
  requestType: 'CertificateList',
  readRows: (body) => listRows(body, 'CertificateList', toRow),
  async handle(reports, { trx }) {
    const lists = reports.flatMap(({ deviceId, rows, parameters }) => {
      return rows === undefined
        ? []
        : [{ deviceId, rows, scope: listScope(parameters(), 'ManagedOnly') }];
    });
    await replaceListed(trx, 'installed_certificates', lists);
  },
};
