import { describe, expect, it } from 'vitest';
import { signInPage } from '../../src/index.js';
import { TOOLS } from '../support/tools.js';

const ISSUER = 'https://id.example.com/tenant';

const PROVIDER = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  userinfo_endpoint: `${ISSUER}/user`,
};

function settingsOf(text: string): unknown {
  const [, json = ''] = /data-settings="([^"]*)"/.exec(text) ?? [];
  return JSON.parse(json.replaceAll('&quot;', '"'));
}

describe('the page that signs in', () => {
  it('has what its script needs: the scopes of the operations, and a request that changes nothing', () => {
    const page = signInPage(TOOLS, { issuer: ISSUER, audience: 'tools', clientId: 'docs' });
    const { userinfo_endpoint: _, ...provider } = PROVIDER;
    expect(page(PROVIDER)).toContain('<title>Sign in · Tool Library</title>');
    expect(settingsOf(page(PROVIDER))).toEqual({
      provider,
      clientId: 'docs',
      scope: 'openid tools:read tools:write',
      audience: 'tools',
      trial: '/tools/0',
    });
  });

  it('names the audience as a resource if it can be one', () => {
    const audience = 'https://tools.example.com/';
    const page = signInPage(TOOLS, { issuer: ISSUER, audience, clientId: 'docs' });
    expect(settingsOf(page(PROVIDER))).toMatchObject({ audience, resource: audience });
  });

  it('says that nobody can sign in, without an answer of the issuer', () => {
    const page = signInPage(TOOLS, { issuer: ISSUER, audience: 'tools', clientId: 'docs' });
    expect(page()).toContain('id.example.com gave the service no valid response');
    expect(page()).not.toContain('<script');
  });
});
