import type { DepProfile } from '../../../src/db/dep/dep-profile-repository.js';

export const ENROLLMENT_URL = 'https://mdm.example.com/dep/enroll';

/** A profile that nothing is said in but its name. */
export const PLAIN: DepProfile = {
  profile_name: 'Office',
  url: ENROLLMENT_URL,
  follows_public_url: true,
  allow_pairing: true,
  is_supervised: false,
  is_multi_user: false,
  is_mandatory: false,
  await_device_configured: false,
  is_mdm_removable: true,
  auto_advance_setup: false,
  support_phone_number: null,
  support_email_address: null,
  org_magic: null,
  department: null,
  language: null,
  region: null,
  configuration_web_url: null,
  anchor_certs: null,
  supervising_host_certs: null,
  skip_setup_items: null,
};
