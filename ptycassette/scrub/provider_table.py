"""Prefixes, alphabets and lengths of the tokens that providers hand out: the facts, as a table.

See ``ptycassette.scrub.provider_rules`` for what becomes of them, and where they come from.
"""

from __future__ import annotations

__all__ = ["NAMES_TOO", "TOKENS"]

_W = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
_H = "[0-9a-fA-F]"

TOKENS: tuple[tuple[str, str, str], ...] = (
    *(
        ("anthropic-token", f"sk-ant-{kind}-", f"{_W}{{16,}}")
        for kind in ("api03", "oat01", "ort01", "sid01", "sid02", "admin01")
    ),
    ("anthropic-token", "sk-ant-", f"{_W}{{16,}}"),
    ("openrouter-key", "sk-or-v1-", f"{_A}{{24,}}"),
    ("openrouter-key", "sk-or-v", f"\\d-{_W}{{24,}}"),
    ("kimi-key", "sk-kimi-", f"{_W}{{24,}}"),
    ("openai-key", "sk-proj-", f"{_W}{{20,}}"),
    ("openai-key", "sk-svcacct-", f"{_W}{{20,}}"),
    ("openai-key", "sk-admin-", f"{_W}{{20,}}"),
    ("openai-key", "sk-None-", f"{_W}{{20,}}"),
    ("langfuse-key", "sk-lf-", f"{_W}{{20,}}"),
    ("sk-key", "sk-", f"{_A}{{20,}}"),
    ("google-api-key", "AIza", f"{_W}{{24,}}"),
    ("google-api-key", "AQ.", f"{_W}{{24,}}"),
    ("google-oauth-token", "ya29.", "[A-Za-z0-9_.-]{20,}"),
    ("google-refresh-token", "1//0", f"{_W}{{24,}}"),
    ("google-client-secret", "GOCSPX-", f"{_W}{{20,}}"),
    ("github-token", "ghp_", f"{_A}{{24,}}"),
    ("github-token", "gho_", f"{_A}{{24,}}"),
    ("github-token", "ghu_", f"{_A}{{24,}}"),
    ("github-token", "ghr_", f"{_A}{{24,}}"),
    ("github-token", "github_pat_", "[A-Za-z0-9_]{30,}"),
    *(
        ("gitlab-token", prefix, "[A-Za-z0-9_.-]{14,}")
        for prefix in (
            "glpat-",
            "gloas-",
            "gldt-",
            "glrt-",
            "glrtr-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glimt-",
            "glagent-",
            "glwt-",
            "glsoat-",
            "glffct-",
        )
    ),
    *(
        ("aws-session-token", prefix, "[A-Za-z0-9+/=]{24,}")
        for prefix in ("IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz")
    ),
    ("aws-bedrock-key", "ABSK", "[A-Za-z0-9+/]{30,}={0,2}"),
    ("aws-bedrock-key", "bedrock-api-key-", "[A-Za-z0-9+/=_-]{30,}"),
    *(
        ("slack-token", prefix, "[A-Za-z0-9-]{10,}")
        for prefix in ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-")
    ),
    ("slack-cookie", "xoxd-", "[A-Za-z0-9%/+=_-]{20,}"),
    ("slack-token", "xoxe-", "[A-Za-z0-9-]{10,}"),
    ("slack-token", "xoxe.xox", "[A-Za-z0-9.-]{10,}"),
    ("slack-token", "xapp-", "[A-Za-z0-9-]{10,}"),
    ("slack-webhook", "vices/T", "(?P<s>[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{16,})"),
    (
        "slack-webhook",
        "hooks.slack.com/",
        "(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_-]{20,})",
    ),
    *(
        ("stripe-key", f"{kind}_{mode}_", f"{_A}{{16,}}")
        for kind in ("sk", "rk")
        for mode in ("live", "test", "prod")
    ),
    ("stripe-webhook-secret", "whsec_", "[A-Za-z0-9+/=]{16,}"),
    ("huggingface-token", "hf_", f"{_A}{{26,}}"),
    ("huggingface-token", "api_org_", f"{_A}{{24,}}"),
    ("npm-token", "npm_", f"{_A}{{24,}}"),
    ("pypi-token", "pypi-AgE", f"{_W}{{30,}}"),
    ("crates-token", "cio", f"{_A}{{26,32}}"),
    ("elevenlabs-key", "sk_", f"{_H}{{32,48}}"),
    ("groq-key", "gsk_", f"{_A}{{30,}}"),
    ("xai-key", "xai-", f"{_W}{{30,}}"),
    ("perplexity-key", "pplx-", f"{_A}{{24,}}"),
    ("replicate-token", "r8_", f"{_A}{{26,}}"),
    ("together-key", "tgp_v1_", f"{_W}{{30,}}"),
    ("fireworks-key", "fw_", f"{_A}{{20,}}"),
    ("cerebras-key", "csk-", f"{_A}{{24,}}"),
    ("nvidia-key", "nvapi-", f"{_W}{{30,}}"),
    ("voyage-key", "pa-", f"{_W}{{40,}}"),
    ("tavily-key", "tvly-", f"{_W}{{20,}}"),
    ("e2b-key", "e2b_", f"{_H}{{26,}}"),
    ("cursor-key", "crsr_", f"{_H}{{26,}}"),
    ("langsmith-key", "lsv2_", "(?:pt|sk)_[A-Za-z0-9_]{30,}"),
    ("databricks-token", "dapi", f"{_H}{{24,32}}(?:-\\d)?"),
    ("digitalocean-token", "dop_v1_", f"{_H}{{30,}}"),
    ("digitalocean-token", "doo_v1_", f"{_H}{{30,}}"),
    ("digitalocean-token", "dor_v1_", f"{_H}{{30,}}"),
    *(
        ("doppler-token", f"dp.{kind}.", "[A-Za-z0-9._-]{30,}")
        for kind in ("pt", "st", "ct", "sa", "scim", "audit")
    ),
    ("linear-key", "lin_api_", f"{_A}{{24,}}"),
    ("linear-token", "lin_oauth_", f"{_A}{{24,}}"),
    ("notion-token", "ntn_", f"{_A}{{30,}}"),
    ("figma-token", "figd_", f"{_W}{{26,}}"),
    ("sendgrid-key", "SG.", f"{_W}{{16,}}\\.{_W}{{16,}}"),
    ("twilio-key", "SK", "[0-9a-f]{26,32}"),
    ("twilio-sid", "AC", "[0-9a-f]{26,32}"),
    # What has forty digits is a digest.
    ("mailgun-key", "key-", "(?:[0-9a-f]{32}(?![0-9a-f]{8})|[0-9a-f]{26,31}(?![0-9a-f]))"),
    *(("shopify-token", f"shp{kind}_", f"{_H}{{24,}}") for kind in ("at", "ca", "pa", "ss")),
    ("square-token", "sq0atp-", f"{_W}{{18,}}"),
    ("square-secret", "sq0csp-", f"{_W}{{30,}}"),
    ("vault-token", "hvs.", f"{_W}{{24,}}"),
    ("vault-token", "hvb.", f"{_W}{{24,}}"),
    ("vault-token", "hvr.", f"{_W}{{24,}}"),
    ("age-secret-key", "AGE-SECRET-KEY-", "[A-Z0-9]{30,}"),
    ("docker-token", "dckr_pat_", f"{_W}{{16,}}"),
    ("docker-token", "dckr_oat_", f"{_W}{{16,}}"),
    ("grafana-token", "glsa_", f"{_A}{{24,32}}(?:_{_H}{{1,8}})?"),
    ("grafana-token", "glc_", "[A-Za-z0-9+/=]{32,}"),
    ("newrelic-key", "NRAK-", "[A-Z0-9]{20,}"),
    *(("postman-key", prefix, "[A-Za-z0-9-]{22,}") for prefix in ("PMAK-", "PMAT-")),
    *(
        ("planetscale-token", f"pscale_{kind}_", "[A-Za-z0-9_.=-]{24,}")
        for kind in ("tkn", "oauth", "pw")
    ),
    ("pulumi-token", "pul-", f"{_H}{{26,}}"),
    ("rubygems-key", "rubygems_", f"{_H}{{26,}}"),
    ("supabase-token", "sbp_", f"{_H}{{26,}}"),
    ("supabase-key", "sb_secret_", f"{_W}{{20,}}"),
    ("netlify-token", "nfp_", f"{_A}{{26,}}"),
    *(("vercel-token", f"vc{kind}_", f"{_W}{{28,}}") for kind in "paikr"),
    ("fly-token", "fo1_", f"{_W}{{30,}}"),
    ("fly-token", "FlyV1 ", "(?P<s>fm[12][ar]?_[A-Za-z0-9+/=,_-]{40,})"),
    *(("fly-token", f"fm{kind}_", "[A-Za-z0-9+/=,_-]{40,}") for kind in ("2", "1a", "1r")),
    ("render-key", "rnd_", f"{_A}{{24,}}"),
    ("sentry-token", "sntrys_", "[A-Za-z0-9+/=_-]{30,}"),
    ("sentry-token", "sntryu_", f"{_H}{{30,}}"),
    ("posthog-key", "phx_", f"{_W}{{30,}}"),
    ("posthog-key", "phc_", f"{_W}{{30,}}"),
    ("atlassian-token", "ATATT3", "[A-Za-z0-9_=-]{40,}"),
    ("atlassian-token", "ATCTT3", "[A-Za-z0-9_=-]{40,}"),
    ("bitbucket-password", "ATBB", f"{_A}{{24,}}"),
    ("dropbox-token", "sl.", f"{_W}{{100,}}"),
    ("heroku-key", "HRKU-", f"{_W}{{26,}}"),
    ("tailscale-key", "tskey-", f"{_W}{{20,}}"),
    ("onepassword-token", "ops_eyJ", "[A-Za-z0-9+/=_-]{40,}"),
    ("clojars-token", "CLOJARS_", f"{_A}{{36,}}"),
    ("nuget-key", "oy2", "[a-z0-9]{34,43}"),
    *(("circleci-token", f"CCI{kind}_", f"{_W}{{30,}}") for kind in ("PAT", "PRJ")),
    *(
        ("buildkite-token", f"bk{kind}_", f"{_W}{{28,}}")
        for kind in ("ua", "aa", "aj", "ar", "ct", "pt", "pat", "ps")
    ),
    ("openai-session", "sess-", f"{_A}{{40}}"),
    ("wandb-key", "wandb_v1_", f"{_W}{{30,}}"),
    ("modal-token", "ak-", f"{_A}{{22}}"),
    ("modal-secret", "as-", f"{_A}{{22}}"),
    ("scaleway-key", "SCW", "[A-Z0-9]{17}"),
    ("alibaba-key", "LTAI", f"{_A}{{16,}}"),
    ("tencent-key", "AKID", f"{_A}{{28,}}"),
    (
        "hubspot-token",
        "pat-",
        f"(?:na|eu|ap)\\d-{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}",
    ),
    ("readme-key", "rdme_", "[a-z0-9]{60,}"),
    ("duffel-token", "duffel_", "(?:test|live)_[A-Za-z0-9_=-]{36,}"),
    *(("easypost-key", prefix, f"{_A}{{50,}}") for prefix in ("EZAK", "EZTK")),
    ("frameio-token", "fio-u-", "[A-Za-z0-9_=-]{50,}"),
    ("prefect-key", "pnu_", f"{_A}{{26,36}}"),
    ("typeform-token", "tfp_", f"{_W}{{40,}}"),
    ("shippo-token", "shippo_", f"(?:live|test)_{_H}{{40}}"),
    *(
        ("dynatrace-token", f"dt0{kind}.", f"{_A}{{8,24}}\\.{_A}{{40,}}")
        for kind in ("c01", "s01", "s02", "s06", "s08", "s16")
    ),
    ("artifactory-token", "AKCp", f"{_A}{{30,}}"),
    ("infracost-key", "ico-", f"{_A}{{32}}"),
    (
        "onepassword-key",
        "A3-",
        "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){2,3}",
    ),
    ("adobe-secret", "p8e-", f"{_W}{{26,}}"),
    ("aikido-token", "AIK_CI_", f"{_A}{{18,}}"),
    ("apify-token", "apify_api_", f"{_A}{{24,}}"),
    ("asaas-token", "$aact_", f"(?:prod|hmlg)_{_W}{{20,}}"),
    ("bitbucket-token", "BBDC-", "[A-Za-z0-9+/=]{28,}"),
    ("brevo-key", "xkeysib-", f"{_H}{{40,}}(?:-{_A}{{1,16}})?"),
    ("brevo-key", "xsmtpsib-", f"{_H}{{40,}}(?:-{_A}{{1,16}})?"),
    ("browserbase-key", "bb_live_", f"{_W}{{20,}}"),
    ("canva-secret", "cnvca", f"{_W}{{30,}}"),
    ("cartesia-key", "sk_car_", "[A-Za-z0-9_]{18,}"),
    *(("cloudflare-token", f"cf{kind}t_", f"{_A}{{30,}}") for kind in "ua"),
    ("cloudflare-origin-key", "v1.0-", "[0-9a-f]{24}-[0-9a-f]{60,}"),
    ("cloudsmith-key", "csa_", f"{_A}{{28,}}"),
    ("cockroach-key", "CCDB1_", f"{_A}{{22}}_{_A}{{20,}}"),
    ("configcat-key", "configcat-sdk-1/", f"{_W}{{22}}/{_W}{{10,}}"),
    ("contentful-token", "CFPAT-", f"{_W}{{30,}}"),
    ("context7-key", "ctx7sk-", f"{_W}{{20,}}"),
    ("datastax-token", "AstraCS:", "[A-Za-z0-9:]{20,}"),
    *(("deno-token", f"dd{kind}_", f"{_A}{{28,}}") for kind in "po"),
    ("devin-key", "apk_user_", "[A-Za-z0-9+/]{60,}={0,2}"),
    ("devin-key", "apk_", "[A-Za-z0-9+/]{60,}={0,2}"),
    ("devin-token", "cog_", "[a-z2-7]{40,}"),
    ("docker-swarm-token", "SWMTKN-1-", "[a-z0-9]{40,}(?:-[a-z0-9]{1,30})?"),
    ("docker-swarm-key", "SWMKEY-1-", "[A-Za-z0-9+/]{36,}"),
    ("elastic-key", "essu_", f"{_W}{{40,}}={{0,2}}"),
    ("endor-key", "endr+", f"{_W}{{16,}}"),
    ("firecrawl-key", "fc-", f"{_H}{{26,}}"),
    *(("flutterwave-key", f"FLWSECK{mode}-", f"{_A}{{12,}}(?:-X)?") for mode in ("_TEST", "")),
    ("gitlab-token", "GR1348941", f"{_W}{{16,}}"),
    ("gitlab-cookie", "_gitlab_session=", "[0-9a-z]{24,}"),
    ("grafana-key", "eyJrIjoi", "[A-Za-z0-9+/]{40,}={0,2}"),
    *(
        ("harness-token", f"{kind}.", f"{_W}{{22}}\\.[0-9a-f]{{24}}\\.{_A}{{12,}}")
        for kind in ("pat", "sat")
    ),
    *(("intra42-secret", f"s-s4t2{kind}-", f"{_H}{{40,}}") for kind in ("ud", "af")),
    ("inngest-key", "signkey-prod-", f"{_H}{{32,}}"),
    ("ionic-token", "ion_", f"{_A}{{36,}}"),
    ("artifactory-token", "cmVmdGtuOj", "[A-Za-z0-9+/=]{30,}"),
    ("jina-key", "jina_", f"{_W}{{40,}}"),
    ("llamacloud-key", "llx-", f"{_A}{{32,}}"),
    *(("logfire-token", f"pylf_v{n}_", "(?:us|eu)_[A-Za-z0-9]{28,}") for n in "12"),
    ("mailersend-token", "mlsn.", f"{_A}{{28,}}"),
    ("mercury-token", "mercury_production_", f"[a-z]{{3,6}}_{_A}{{30,}}"),
    ("mergify-key", "mergify_application_key_", f"{_W}{{36,}}"),
    ("miro-token", "eyJtaXJv", f"[A-Za-z0-9-]{{10,}}_{_W}{{10,}}"),
    ("neon-key", "napi_", f"{_A}{{36,}}"),
    ("nylas-key", "nyk_", f"{_A}{{36,}}"),
    *(("onesignal-key", f"os_v2_{kind}_", "[a-z2-7]{60,}") for kind in ("app", "org")),
    ("openshift-token", "sha256~", f"{_W}{{36,}}"),
    *(
        ("packagist-token", f"packagist_{kind}_", f"{_H}{{26,}}")
        for kind in ("ack", "acs", "ort", "out", "uut")
    ),
    *(("paddle-key", f"pdl_{mode}_apikey_", "[A-Za-z0-9_]{26,}") for mode in ("live", "sdbx")),
    ("pinecone-key", "pcsk_", f"{_A}{{5,6}}_{_A}{{30,}}"),
    ("rootly-key", "rootly_", f"{_H}{{40,}}"),
    ("runpod-key", "rpa_", f"{_A}{{28,}}"),
    ("samsara-token", "samsara_api_", f"{_A}{{22,}}"),
    ("scalingo-token", "tk-us-", f"{_W}{{40,}}"),
    *(("settlemint-token", f"sm_{kind}_", f"{_A}{{16,}}") for kind in ("aat", "pat", "sat")),
    *(("sonarqube-token", f"sq{kind}_", f"{_H}{{32,}}") for kind in "pua"),
    ("sourcegraph-token", "sgp_", f"(?:{_H}{{16}}_|local_)?{_H}{{28,}}"),
    ("segment-token", "sgp_", f"{_A}{{48,}}"),
    ("turbopuffer-key", "tpuf_", f"{_A}{{28,}}"),
    ("upcloud-token", "ucat_", f"{_A}{{22,}}"),
    ("wakatime-key", "waka_", "[a-z0-9-]{30,}"),
    *(("xendit-key", f"xnd_{mode}_", f"{_A}{{36,}}") for mode in ("production", "development")),
    ("zuplo-key", "zpka_", "[a-z0-9]{28,32}(?:_[0-9a-f]{1,8})?"),
    # The claims of one that was cut off begin with a JSON object too.
    (
        "jwt",
        "eyJ",
        f"{_W}{{8,}}\\.(?:[A-Za-z0-9_-]{{8,}}(?:\\.[A-Za-z0-9_-]*){{1,3}}|eyJ[A-Za-z0-9_-]{{5,}})",
    ),
)
"""Name of the rule, prefix, what follows it."""

NAMES_TOO: tuple[tuple[str, str, str], ...] = (
    ("atlassian-token", "ATAT", "[A-Za-z0-9_=-]{80,}"),
    ("brave-key", "BSA", f"{_W}{{24,40}}(?![\\w+/=-])"),
    ("devcycle-key", "dvc_", "(?:client|mobile|server)_[A-Za-z0-9_]{12,}"),
    *(("facebook-token", f"EAA{kind}", f"{_A}{{90,}}(?![\\w+/=-])") for kind in "BCDGIJLM"),
    ("helicone-key", "sk-helicone-", f"{_W}{{20,}}"),
    ("lichess-token", "lip_", "[A-Za-z0-9_]{16,}"),
    ("mem0-key", "m0-", f"{_A}{{20,}}"),
    ("minimax-key", "sk-api-", f"{_W}{{36,}}"),
    ("octopus-key", "API-", "[A-Z0-9]{24,}"),
    *(
        ("onfido-token", f"api_{mode}.", f"{_W}{{20,}}")
        for mode in ("live", "live_ca", "live_us", "sandbox")
    ),
    *(("persona-key", f"persona_{mode}_", f"{_W}{{20,}}") for mode in ("production", "sandbox")),
    ("pinterest-token", "pina_", f"{_W}{{20,}}"),
    *(("polar-token", f"polar_{kind}_", f"{_W}{{20,}}") for kind in ("at", "oat", "pat")),
    ("proof-key", "prf_", f"{_W}{{20,}}"),
    ("resend-key", "re_", f"{_A}{{8}}_{_A}{{16,}}"),
    ("kimi-key", "sk-", f"(?!(?:ant|or|proj|svcacct|admin|None|lf|kimi|helicone|api)-){_W}{{40,}}"),
    ("supabase-token", "sbp_", f"{_W}{{30,}}"),
    ("thunderstore-token", "tss_", f"{_W}{{20,}}"),
    *(("trigger-key", f"tr_{mode}_", f"{_A}{{20,}}") for mode in ("prod", "dev")),
    ("unkey-key", "unkey_", f"{_A}{{18,}}"),
    ("voyage-key", "al-", f"{_W}{{40,}}"),
    ("valtown-token", "vtwn_", f"{_W}{{20,}}"),
)
"""The same, of such as names of files and functions begin with, too: what follows is judged."""
