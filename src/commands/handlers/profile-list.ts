import type { ProfileRows } from '../../db/devices/inventory-repository.js';
import { replaceListedProfiles } from '../../db/devices/listed-inventory.js';
import { replaceUserProfiles } from '../../db/devices/user-profiles.js';
import type { PlistDict } from '../../protocol/plist/plist.js';
import {
  assertRowCount,
  type ColumnMap,
  dictsAt,
  listRows,
  listScope,
  readColumns,
} from '../reports/report-columns.js';
import type { ReportHandler } from '../reports/report-handler.js';

const PAYLOAD: ColumnMap = {
  PayloadDescription: ['payload_description', 'prose'],
  PayloadDisplayName: ['payload_display_name', 'text'],
  PayloadIdentifier: ['payload_identifier', 'text'],
  PayloadOrganization: ['payload_organization', 'text'],
  PayloadUUID: ['payload_uuid', 'text'],
  PayloadVersion: ['payload_version', 'integer'],
};

const PROFILE: ColumnMap = {
  ...PAYLOAD,
  HasRemovalPasscode: ['has_removal_password', 'boolean'],
  IsEncrypted: ['is_encrypted', 'boolean'],
  IsManaged: ['is_managed', 'boolean'],
  PayloadRemovalDisallowed: ['payload_removal_disallowed', 'boolean'],
  SignerCertificates: ['signer_certificates', 'json'],
  Source: ['source', 'text'],
};

const PAYLOAD_WITH_TYPE: ColumnMap = { ...PAYLOAD, PayloadType: ['payload_type', 'text'] };

function toRow(profile: PlistDict): ProfileRows {
  const payloads = dictsAt(profile, 'PayloadContent') ?? [];
  return {
    profile: readColumns(profile, PROFILE),
    payloads: payloads.map((payload) => readColumns(payload, PAYLOAD_WITH_TYPE)),
  };
}

export const profileList: ReportHandler = {
  requestType: 'ProfileList',
  readRows(body) {
    const profiles = listRows(body, 'ProfileList', toRow);
    const payloads = profiles?.reduce((count, entry) => count + entry.payloads.length, 0);
    assertRowCount(payloads ?? 0, 'ProfileList');
    return profiles;
  },
  async handle(reports, { trx }) {
    const lists = reports.flatMap(({ id, deviceId, userId, rows, parameters }) => {
      if (rows === undefined) return [];
      const scope = listScope(parameters(), 'ManagedOnly');
      return [{ commandId: id, deviceId, userId, rows: rows as ProfileRows[], scope }];
    });
    await replaceListedProfiles(
      trx,
      lists.filter(({ userId }) => userId === null),
    );
    const ofUsers = lists.filter(({ userId }) => userId !== null);
    await replaceUserProfiles(
      trx,
      ofUsers.map(({ commandId, rows, scope: { isManagedOnly } }) => {
        return { commandId, isManagedOnly, profiles: rows.map(({ profile }) => profile) };
      }),
    );
  },
};
