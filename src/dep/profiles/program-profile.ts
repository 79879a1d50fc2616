/** What a profile of the enrollment program says, by the columns of its row. */
export interface ProgramProfile {
  profile_name: string;
  /** Where devices ask for their enrollment profile. */
  url: string;
  /** The url is this server's own, and changes with PUBLIC_URL. */
  follows_public_url: boolean;
  allow_pairing: boolean;
  is_supervised: boolean;
  is_multi_user: boolean;
  is_mandatory: boolean;
  await_device_configured: boolean;
  is_mdm_removable: boolean;
  auto_advance_setup: boolean;
  support_phone_number: string | null;
  support_email_address: string | null;
  org_magic: string | null;
  department: string | null;
  language: string | null;
  region: string | null;
  configuration_web_url: string | null;
  /** Base64 of DER; null: those of the server. */
  anchor_certs: string[] | null;
  supervising_host_certs: string[] | null;
  skip_setup_items: string[] | null;
}

/** What of the server goes into the definitions of its profiles. */
export interface DefinitionContext {
  /** Where devices of the enrollment program ask this server. */
  enrollmentUrl: string;
  /** DER of what devices are to trust this server by. */
  anchors: readonly Buffer[];
  /** DER of the certificates of computers that may supervise devices. */
  supervisors: readonly Buffer[];
}
