import { createHash } from 'node:crypto';
import type { DepProfile } from '../../../src/db/dep/dep-profile-repository.js';
import {
  type DefinitionContext,
  definitionOf,
  digestOf,
} from '../../../src/dep/profiles/profile-definition.js';
import { ENROLLMENT_URL, PLAIN } from './profile-samples.js';

const ANCHOR = Buffer.from('an anchor');
const SUPERVISOR = Buffer.from('a supervisor');
const NO_CERTIFICATES: DefinitionContext = {
  enrollmentUrl: ENROLLMENT_URL,
  anchors: [],
  supervisors: [],
};
const CONTEXT = { enrollmentUrl: ENROLLMENT_URL, anchors: [ANCHOR], supervisors: [SUPERVISOR] };

const bytesOf = (changes: Partial<DepProfile>, context = NO_CERTIFICATES) =>
  JSON.stringify(definitionOf({ ...PLAIN, ...changes }, context));

const memberOf = (name: string, changes: Partial<DepProfile>, context = CONTEXT) =>
  definitionOf({ ...PLAIN, ...changes }, context)[name];

describe('the definition of a profile', () => {
  it('has no nulls, empty texts or empty lists, and no devices', () => {
    const nothing = { department: '', anchor_certs: [], skip_setup_items: [] };
    expect(bytesOf(nothing)).toBe(
      '{"allow_pairing":true,"auto_advance_setup":false,"await_device_configured":false,' +
        '"is_mandatory":false,"is_mdm_removable":true,"is_multi_user":false,' +
        '"is_supervised":false,"profile_name":"Office",' +
        '"url":"https://mdm.example.com/dep/enroll"}',
    );
  });

  it('has every attribute of the profile, under Apple’s names', () => {
    const full: Partial<DepProfile> = {
      is_supervised: true,
      is_mdm_removable: false,
      is_mandatory: true,
      is_multi_user: true,
      auto_advance_setup: true,
      await_device_configured: true,
      allow_pairing: false,
      support_phone_number: '+1 555',
      support_email_address: 'a@b.c',
      org_magic: 'magic',
      department: 'IT',
      language: 'en',
      region: 'US',
      configuration_web_url: 'https://mdm.example.com/web',
      skip_setup_items: ['TOS', 'Siri'],
    };
    expect(bytesOf(full, CONTEXT)).toBe(
      '{"allow_pairing":false,"anchor_certs":["YW4gYW5jaG9y"],"auto_advance_setup":true,' +
        '"await_device_configured":true,' +
        '"configuration_web_url":"https://mdm.example.com/web","department":"IT",' +
        '"is_mandatory":true,"is_mdm_removable":false,"is_multi_user":true,' +
        '"is_supervised":true,"language":"en","org_magic":"magic","profile_name":"Office",' +
        '"region":"US","skip_setup_items":["TOS","Siri"],' +
        '"supervising_host_certs":["YSBzdXBlcnZpc29y"],"support_email_address":"a@b.c",' +
        '"support_phone_number":"+1 555","url":"https://mdm.example.com/dep/enroll"}',
    );
  });

  it("has the profile's own certificates if it has any", () => {
    expect(memberOf('anchor_certs', { anchor_certs: ['b3du'] })).toEqual(['b3du']);
    expect(memberOf('anchor_certs', { anchor_certs: [] })).toBeUndefined();
    expect(memberOf('supervising_host_certs', { supervising_host_certs: ['b3du'] })).toEqual([
      'b3du',
    ]);
    expect(memberOf('supervising_host_certs', { supervising_host_certs: [] })).toBeUndefined();
  });

  it('has the URL of PUBLIC_URL while the profile follows it', () => {
    const before = { url: 'https://before.example.com/dep/enroll' };
    expect(memberOf('url', before)).toBe(ENROLLMENT_URL);
    expect(memberOf('url', { ...before, follows_public_url: false })).toBe(before.url);
  });

  it("contains this server's anchors for no other host", () => {
    const other = { follows_public_url: false, url: 'https://mdm.example.com:8443/dep/enroll' };
    expect(memberOf('anchor_certs', other)).toBeUndefined();
    const here = { follows_public_url: false, url: 'https://MDM.example.com:443/behind/a/proxy' };
    expect(memberOf('anchor_certs', here)).toEqual([ANCHOR.toString('base64')]);
  });

  it('has the SHA-256 of its bytes as digest', () => {
    const expected = createHash('sha256').update(bytesOf({})).digest();
    expect(digestOf(definitionOf(PLAIN, NO_CERTIFICATES))).toEqual(expected);
    expect(digestOf(definitionOf(PLAIN, CONTEXT))).not.toEqual(expected);
  });
});
