import { replaceListedProfiles } from '../../db/listed-inventory.js';
import type { PlistDict } from '../../protocol/plist.js';
import { dictsAt, type FactMap, readFacts } from '../facts.js';
import { listScope } from '../list-scope.js';
import type { ReportHandler } from '../report.js';

const PAYLOAD: FactMap = {
  PayloadDescription: ['payload_description', 'text'],
  PayloadDisplayName: ['payload_display_name', 'text'],
  PayloadIdentifier: ['payload_identifier', 'text'],
  PayloadOrganization: ['payload_organization', 'text'],
  PayloadUUID: ['payload_uuid', 'text'],
  PayloadVersion: ['payload_version', 'integer'],
};

const PROFILE: FactMap = {
  ...PAYLOAD,
  HasRemovalPasscode: ['has_removal_password', 'boolean'],
  IsEncrypted: ['is_encrypted', 'boolean'],
  IsManaged: ['is_managed', 'boolean'],
  PayloadRemovalDisallowed: ['payload_removal_disallowed', 'boolean'],
  SignerCertificates: ['signer_certificates', 'json'],
  Source: ['source', 'text'],
};

const PAYLOAD_WITH_TYPE: FactMap = { ...PAYLOAD, PayloadType: ['payload_type', 'text'] };

function toRows(profile: PlistDict) {
  const payloads = dictsAt(profile, 'PayloadContent') ?? [];
  return {
    profile: readFacts(profile, PROFILE),
    payloads: payloads.map((payload) => readFacts(payload, PAYLOAD_WITH_TYPE)),
  };
}

export const profileList: ReportHandler = {
  requestType: 'ProfileList',
  async handle({ deviceId, body, parameters }, { trx }) {
    const profiles = dictsAt(body, 'ProfileList');
    if (profiles === undefined) return;
    const scope = listScope(parameters(), 'ManagedOnly');
    await replaceListedProfiles(trx, { deviceId, profiles: profiles.map(toRows), scope });
  },
};
