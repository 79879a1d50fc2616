/** What decides whether an enrollment link lets someone in. */
export interface LinkFacts {
  is_disabled: boolean;
  expires_at: Date | null;
  max_uses: number | null;
  uses: number;
}

export interface EnrollmentLinkService {
  /** A new token, and what its link is found by. */
  newToken(): { token: string; hash: Buffer };
  /** For the link of this id, and no other. */
  sealToken(id: number, token: string): Buffer;
  /** What is handed out to people. */
  urlOf(id: number, sealedToken: Buffer): string;
  statusOf(link: LinkFacts): 'usable' | 'disabled' | 'expired' | 'spent';
}
