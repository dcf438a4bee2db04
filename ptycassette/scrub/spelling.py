"""Whether letters stand as they do in names, or as a generator gives them.

A name is made of words and of what people shorten them to: of the letters that may follow two
others, few do. So each letter of a text says how much likelier it is by chance than in a name
behind the two before it, and the text is the sum of that. What counts is the highest sum on the
way, from the eighth letter on. So no beginning of what is taken for a name looks generated: a
name that a row cuts stays one.

The table was computed by ``python -m benchmarks.scrub_names --print`` from the identifiers in
the standard library of Python 3.11; the same program says how well it tells.
"""

from __future__ import annotations

import zlib
from base64 import b85decode
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

__all__ = ["LETTERS", "NAMES", "Spelling", "place", "places", "seems_by_chance", "spelt_by_chance"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_EDGE = "^"  # before a text, behind what is no letter, and before the T of accessToken
_BEGINS = _EDGE * 2
_CONTEXTS = (
    pair for pair in product(_EDGE + LETTERS, repeat=2) if pair[1] != _EDGE or pair[0] == _EDGE
)
_ROWS = {before + last: at * len(LETTERS) for at, (before, last) in enumerate(_CONTEXTS)}
_COLUMNS = {letter: at for at, letter in enumerate(LETTERS)}
_FEWEST = 8
_PARTS_TELL = 6.0


def places(text: str) -> Iterator[tuple[str, str]]:
    """For each character of ``text`` the cases, and the letters, of it and the two before it.

    A case is U or L, and "^" where a word begins; of what is no ASCII letter both are empty.
    """
    cases = letters = _BEGINS
    for char in text:
        letter = char.lower()
        if letter not in _COLUMNS:
            cases = letters = _BEGINS
            yield "", ""
            continue
        case = "L" if char == letter else "U"
        if case == "U" and cases[1] == "L":
            letters = _BEGINS
        yield cases + case, letters + letter
        cases, letters = cases[1] + case, letters[1] + letter


def place(letters: str) -> int:
    """Where the table has three letters."""
    return _ROWS[letters[:2]] + _COLUMNS[letters[2]]


class Spelling:
    """How names are spelt.

    Args:
        table: for each ``place`` the number of a level.
        levels: by how many bits a letter there is likelier by chance than in a name.
        cases: the same for the cases of a letter and the two before it.
        most: the bits up to which a text is a name: of one case, and of both.
    """

    def __init__(
        self,
        table: bytes,
        *,
        levels: Sequence[float],
        cases: Mapping[str, float],
        most: tuple[float, float],
    ) -> None:
        self._table = table
        self.levels = levels
        self.in_cases = cases
        self.most = most

    def bits(self, text: str) -> tuple[float, float]:
        """The highest sums on the way: where it is of one case so far, and where of both."""
        spelt = cased = 0.0
        highest = [float("-inf")] * 2
        count = lower = inner_upper = 0
        for cases, letters in places(text):
            if not cases:  # a part of a name says little about the next one
                spelt, cased = (min(max(bits, 0.0), _PARTS_TELL) for bits in (spelt, cased))
                continue
            count += 1
            spelt += self.levels[self._table[place(letters)]]
            cased += self.in_cases[cases]
            lower |= cases[2] == "L"
            inner_upper |= cases[2] == "U" and cases[1] != _EDGE
            if count >= _FEWEST:
                both = lower & inner_upper
                highest[both] = max(highest[both], spelt + (cased if both else 0.0))
        return highest[0], highest[1]

    def by_chance(self, text: str) -> bool:
        """Whether ``text``, of letters and what joins words, looks generated."""
        return any(bits > most for bits, most in zip(self.bits(text), self.most, strict=True))


# Of three letters, the two before and the last ("^", a, ... z, then a, ... z).
_TABLE = """
c-oDei*_8hu0;9f|NrsD-o=q*IVZVJmMx8Dx=9cy6bfjKIqJ`xW3T$E{u!gsHP_y&Uf=b_x@W9$=IMQmHTOAvtu=VVIrYz2_4Czl
y}tQLeWb7YX709bePEt_R()o#w$JW-!{4*6!B2Mmm;cY5qb@KzKichF*2GGBeOY(d+?dbQ8*5?h>^%?np8NLA%I@LSdS|Wb)>8JU
8?2EPu;A@#>WenlS-mz;7dyOntXtQto9#YseY(|GtM0RQ^MiHyS>Iug({EkBzOHT7GTB0_t8u@>-Roah;NJSa^`WsZ2CTPqcbd;|
$1)&`7%a9vT_&iv^xNx1%CNUK#;t1wb(w>$u~5CQ-?e$2RbGr9qwyVfW7T_>J?gS`AMLj9oo8bEQETJ<qdwN_-KUPX{;u<xv-Vd1
?8^a{)!6XD40W~os+DQVK_+Xi_jA;oPi?zabM%|zDP#LP+P(Rz*II5J&>jB4mb>gXuxeesj$+{|ol~i0a%g3W`mgLzPNv;v!(iAJ
TXVjnVK@HcoNJ%FSjJ(sQ(xuY<r0%~i4S;odQ>f{-dc;sU(52?t+O9Jx^8vX(8%+!4lc){dVRC&@56;I_vmc3E>+88?ai2}>)o<Y
efHu3b(W)6UKTjqcb3P@a<qw`+`3}<#KoQ2iSOz-{GGkC#Cl7;-0=WDLS(UsqsP>ah^%>W-@09yxBk>}>Vq2t)g>A(Qu~>GYo_{8
!zV8{U0F!2td@U!D^J}Vd991+s6)bYz=uMI!NMy>$HfqX{d<5F>+E#1wel?7Z5uy$#Ew&f4izy(@ZfTFCd0$#UcKC?E^>i}_$d1z
rW!#~KdD#BEVoQ@*(e6<S@&TP2Oq1zoosN_o9c4)nR@AR-Fg?N^!}XNf>j_zc|aX+{bBvJS1_^8sP@zA<ys;LS)0No^$vc*=F6~U
80}n}<a}Hk7O5B_{%Y-YhQ|wYcr2nXV;=YQb3_|ZT6Q@2=fZadirPrII58+96K}QBx=&fI0Od?!XT}dU=Tb(+cj^bbc?yezAsh-m
^|V?wCs%6#-^Og9Y`Fq3<xjxTjbUqxwI8s#J~_eBgCDRMqLeeO?U!Tpt5flR!M1(}dR$IfYj>c7crJ4rNww9o&;@x4L%Gxy?Jnj6
!zymb6ScDrimg`va6onSy4nPTM5MxuGG<-6J}!C!Z7gSqCWDj$WMED(e}SX5gxmOwD4oLoAp(cUGQd%Ml+dfMYHe7!i!SrUR-au=
EN2GXa0J#S>SL{118!8d29gT43GF(9Ui$&B4ML5`mBs7&3Gq@3!RyTn*sTt(kgqPw5fX2Q6Pkpe7y^J5NG{V}??&8<=K6uKKr*<z
%4zeNI?av8lbFih{hI$=jR+6!EWWQaK89z!g4*Rw)1x>zM0-00UD*{exec0f3^~OiPC4?!0dHV_C2!Y{d*SFNcyTX`+lilUMjsqo
$JS+vc0m70z^)wFx@H-`mV8{F5R46eR)ELX$>0+8=dx(-bTkwzNRB4g*LiJMO*SJ4bk~(kjxQBb5^sf76=p;cmK4bcQKnCtW3?mR
TUR@R#w4B()}3+=PzWA#M6FR+TWcfBicW_UDvUQ8YsJOIAORgr6fy$D1Xp=xaI`kvu2BN|c+4DS`E~83;~{)l;xn42!%V)jaUU7V
fGP175+#|4M9t<~C%nvA@};Xg)j?lVFd3s(-2h+wn%i7`R2;4Q18D>Qfi6BD#gX6+1Aqn%I3J=CvL?xp1+1_OkP`<Zm8~Sl`V5Jx
+>gvy$5rd+<QDmRz&c~`3#}L|gVg6gE@){TBDn5jh6fLXXxyulCOM%2W32Vo+DMfm^x&;^Zy5>;*~IJNJh-m3L>pj7PpKl+T%Y*h
Sg^3UjEex6Kzil1q5GDHO>>FlqXLB`wukW*2V{QSowJ0IR|LWci4uI}65iZ;zkDu^@-k5f5$mF|K8n2#Ytu&wN<HzJ8ytn2EzqB6
JbVVmu*ro~0uVaz(3pI={+R0_cJWc;R2;>3@w}NpzL*zIE4y953phHHufc|fzhO>7njG$?YjZkS>r(<DQjz*Aw5U(+wX(S3*5sdK
eeiI!V}|FW&~4~2J~||cBfwygaaI}(RP;siI^Ndw`18X@Awl(hkqvxD)R|Yp#S$7QEe#5cfu#**$l37|lJAsD*EI&jjG(Bs&iJTY
)XQxNeP`QcI)2<CX_uvr1}>Mw!lJ2LATzS{@(i;2G_nXeqGSSG<R;ni@Z`+(EY;JWK?q1uMaUJkfmrfflV6)S7w|KHaw-<G(Cncn
JINVL!pt2CAi|DL5=dnMs|4#|Oe9HAnMmg|h6QY5n>P+9M#`XO!Ye4}rWm4^9TDkJ`OTXxi4;LKs~d9b)wv05JX4|vM2NkV9Tkm)
fSj_nQMOxG(gqH+b%Xw3N(Bfx81LoKK{`r<(cI5nS(_Yz`_xq$`?}H^iz?1qa>$L#ZR(<R?tEsiR3;spk(uCTxdg<4d^#b|D<M@L
S4%4w+$4jXk6gLCX?B5OJ6pM=7g7c1)A9;<2DzG_x}Hnc&rjI#gS<{%Z^gn5snDhp04P`MX=?@U%SHK#k->f1v>ZRusFrx1#;F<k
ZXE_2z@;eh&GqKS$`^yGU|TQXkt~VxFnR{-tRO2_79?*NHU37VLEASt`pNaAg=Ss;aCAaTCMeEHs0pxe*etu`?5w2fj<2eg+%Mgz
j;qdUZ1b0Vjnt37eK9ed5}<7E`iSuW4W-vOTAaT)>!pD4_$VF#QanD&o;+<=N)!lvWF9I?t|mVhAFf6uU!QF?OctbW1bJnyC%L`c
s~!2MD>X@{a-G&3NA^G_>U_C^d>~i_<0sdLk0#fv7e$5v`;86R2I>ZkOgSaFeqn>?6d>-yQM@`CV^Dt;$krQi-#$FGtv>R6RBnb&
V39+OKEO1?3C6-A019w!KSd@rlaR9IRg?%oe3LxkNT?ImOq-yDQy^ws4yLRFjsk+fG-=Pot}e!f1}q()7bzle%*X<ij2AA&ag%+u
K{U5-A6=?n4VE(h@X^QtcqWYZ`RJ>epe3omV0MT(hk6ivX>2g{^};%ks3G#W?4^!So9fUhE~Af90}fIj>=D8OM~jbgK07|To{tji
U=Ms1FR#iDs!0IjqqxK}n<<_ZT;Q^jIXP34OOeipUbm#idOQLP{&idGl!EjDpm-mk24K=h&-~O(@lln82l?|yuD4_fAGM~(8lSp^
dKRC-f$Hu9RjP@jvIazvt%oc4iHVhVuci5s-Vf`<SnLZ&VSGoO3~Df=w;4rX@mwDt4N`PAgnc@`<9#lNQS@e{#49J0WpSE)M`eqq
svKI8GKe1uBJPJ&qi^+>VkyAp7a#Rn!)l?E)~;R;8HBjUNBdtsT3g>@_V}uqtn0BPc5c@iP=}Pd->9ZCys|EQbnNG&CJ_BC)vn~7
R83L6-Px9&qf-R)-yxz~4*1RSh(V6uK04x~xRQ#Q)jKuzF+puIIz_ILpQ=F07=BCfF;v~EHjb9|(BJr>mZ-0wU)GxbY2xUJkN#6#
KlIV@sq5FrM^|izboA|`DcGS4;%HN!m!bwo=lsUe`EV49!s^Ro8-aIaU963Z@y>Y7V%6}5t>S|!L-n+ls>ke6N`SxyV)2I9V7RHP
>}^p&(N1^*!+lv2dQZ6SA+x%1Jf0+l&c$g^4r0h2y^op+gtumj_B8ZSMZ>8Np>@GH(4OX1_OYvg@^Do1Kl-Tpf!zv)sS|aM{I%dR
*7Yn5b!$Xn8m<DRUwxEgIx1PXQgK+Ufcma)v-4vWC)F2@&8LxhB-*57e6(BQDoQPt4gJ%)eys@G?R7X{Wuo%)ydHIsqLes%0f)1X
rl6=aQ2Xg}f2pJG6VjAnzSOS~6fZnnF{1KSVYYndgr%RSkj6)+Y7cODx(o;EycM~3lzIiAq53R~Hjka1Tpt{TpQ*zV|2KNcQ(>`(
weBJR)M-+*57Q{xlLa_IX&VRfDTN)b4f$rM6OmfT!d)Jk4vd^nvD#X$_6CO89e|IjX<hR|dS7aEL+u%DSF{0@o1Tc-qkaub4y>b?
aXj4=YiEbS5-3v|NCKfim_`dKmX$G)*S~Od!qbws3NY=VENPafEw*g4rW6IR#jE=aQ3R_vAWHzefNBAi4&27qh&$v`xU$`{au{Wb
C1EfcQ2a$67q!3n==hghuXn6z|BO9R^gb`+)!^uY1d)!_L!t$!pzrjiup0okg~%<Ujz*h;I_2YuyQ$Pa99=(f6k8VTTK2Bw###an
K^gp&>*p7a&gY|3A00n^^zqUDi;vD{n5KHH_9V?$3s8Yp)@C774@$0=Q=HexLWz_3E_#dL0d59aC%vSWfiO~{tK3j*a6t~g&~sP_
6la(!us?isTIHxcrDkgKV5<Fe`|ur<1nc@?oNduk)=MVo*A~E)^HI04Qcq?5sG0VQg<+|>)bQ0}%=3$LvcUM}qdPu&;-hp{sY8zX
j%5O0gUHmMk$=urIMVwkW=k&=@^BLScDm}8Z3=~ErjPa%4gY7&6z(GLHGy7}=rL(btAw(SGAU)vFr(v;RG3|O_;4}Mg$t{@Ts@$1
w2?uR>*2n?bA7XItFCO{hO@qY#)zAL@=*zvHIv!-%=qYheDq&@)V|+ULfjs6MbTP0U_4cTp7I@gWpc4&Bi`hsmSNZAs^<;OF=944
o+}-x9?{Xh^AMU$3^V!;K-ca2!%7iS^c2;i=%bLDn@IwEG#q{Em3B^m%yS=lTBp^;k*7#(wzpr+L}u7Oag^N;47IJU7Adli;Arpm
D8oR|#Wzp|=0_h*RWso&wuc@c72hC7YU}Ewc5v<Gvd%+cv}_E@y{&L8t%Qc9$fA;}n)~rlPZJf~T)$+|Knx!;8kv*G_(Z#rfXRbP
B)g$JSWC{PvSW29ab~<>$?0)CxEO?Zqk`g%DCWQz=63@y)syyiYNjzhHPfFyI{vJgIG}AoKP?hJb-jtYr_Y3rAmci+h#R$#z%78h
_GL&U#L#qF0D2CqzfUhUV{Fqdrle*{3Wg{c8^&c%7uq&L1^{Fbz=}PTLBXS9MU*2GAjRsV%i1hCxT(L{+S;F9C|D32wRXl2MtY&v
U|=cUBB!f`^e3%-)l5I@dMX{_tt*#F-3gi@D$DuUTuYB~MrGS}pzN=x=Ak$X+|cZ+>JbfpLLM$D&|YZ48Y42c9k<ZnFvYdMMA669
+RlEuR{OVHA9fy1sJvC-FH;5<m~AD3{f9TJaaz~2a&=pbHTB)hmdKS+1=pt+da3K@!_lY!S^ihev|k@^r1$?_GyNluLJDldNm0Q_
3t<v#c*t+<34&=q0iB}^2+Rq(+v$O@4@XCioX<Y^uo7=}bGDk1QpZjgdnu=MTB*lGV=nWw#W&@1BfE=NJ2L?Aa=o}IIjvV>h+PCy
PYVUnfjUA_I2yinl_^oCjlU@LUt3WyvyS9W1806Td@OFw)D^Dg>ucaul-Nglot(MseLClG%@y9KT_U7e;UDfXKmGdX6iqG(4q0#8
uAgC{*#5|}APmS|diJ(l8;%ATXe;#t{<%NBP#Mqq^qH)GlI!Iz-?`rDnQJEnfGbP1ky#+BLlw=NKHzv0GDnUGUh4-8U^xymU!Uo0
Cwo$B0#sWyVt?25Q6v8WM@<#uqmP24a&W}D;ZV@fzn!sbnJLjnPg<0EIB7xnPI6(C<}+KA+}^H|h-oM|dhD@G(F8>e&g%I9VZL^i
f$Z*dF);vUYE{EMtx07v8CQq8UZ2UKnPu-?6`0*#U3}Yw&D@6SD^)dA#wm#r?FoQ(uwrL^igc%JF@N-#e(+J_C+GeqRNinwq<?$N
vd(@Iq3fwQ_`nL1*Gifn&14WcH>}raJT$RX%%mAODWV1eZ_dih!ejsjjw149fQ|m+csM#gGbN9Yy6Q^D#3?qiNbG7W>bmKC`$^ov
rjf&qa2NYb`!%!e=Qx1iAP|2sOx2lty6Ok1w};<ZNM*i*paGn6J`KUOJ2&Cr(M;d`D)8U}oI`uF1Vm;nDmBy7@KGjV@98rsjp~TX
CX^)h!1SRuY{1(uvEC~nwzNOC$d2`XIFp2GrOz~VaQj8m{`Sfg2YgBNuZ(BU?S`9>0I%Ot;o<zv_THNdz=mo<=99~fU;(esB#w6R
jUp2!>m=NjLk@WiSL+m4z%X9=o$KZ7<69r4Bh(qGv9+c4WPI+|2fQjw_Ukcr^w9|~(R-IQ)9$ZkYPK|b7`_ZKL!whwU`LYB1w$G+
$KK_2TF|)wcrkx3I|Ms56FzA$Gpg1^HAV;8!}ycQgPl&1x&y&#CW2j}!l^Y<o0;U_Y@Yov?KsxgOv$n?;Y~nA?F8G*X!vjRRBRt6
oHtW4M$YGmLjNPzJ0mJfw3kl6(Gpu$K>wp=qNM=Wg)@ePoj3iwp7yjq+7mvyGV=L&$gpb-HaQw4hJCaeWz>=4O*W-Ck>OZd#M4}_
Jm8#lw5R=t_B8ij+LQPBXiw;y>ZAKJWj)jTm$srD42O`Qw&waDKH7h3_)GQpk6tL(UN&c=;X_iU0T$o+qpnA_Bg?2gwVg3?TmSKp
@X^R0Fqvb!l)7G{WR9!P^g>x1O{XvI32gep(eYi^!vUj_p=y+4wrHxEqKftemr#4^pZQ+$+&^efOtyS`e77C4pO5~bJsB$B8a^l8
qhZ=-`Y%4Z{?MM%XL1a0{7YT$R5W^;RSaH5{<kUWe6Mpv^!Od6l_Ld_7))GGp>>qyzKQl|x9C+nQ*N22(|2rfQqRrwEMIrZx*qD|
ObN5FnFU)>MKUbH_ztMQGjtsf8L9Yf#)8)Gd4qd1#X`B&Ez#G*(fzv@x)Tf0;~g~0g!werqsOZiPMNlKFl$xw5AxxKNH!`j=jBs5
`O0Mcuwk+t57Xt+W}?I#oFxNq-F#x#3f|kTTfS?i&;024&h_J)Cps1_i?hz6wk;6UcaEJgi#q8~<QVH8XuEy&U|6?xLSn0sw3g1?
6T5u5{-*!%(eRs+@0Fz;8z+3`jK@d&$4AF!HqQ{XU!QqoVtd-A^J$7{%@iMXgfs&z{Wv-U|7J4Y?wxYdiXMU=yqOY}t>~jS{HVXF
eh0E)4i12Jr^{HE^Om06)_ZJ}D8+d6@<zMHQ!PmkF>iBLs(C6h6MNfJ_4$SM=5AGWRM5LeDZ*Z7-817{Z+BvCNM*Y7y;8#OIsEwO
a{6PE)u-cZN;R3@$)IhwC`-*GQpudcPj9L=9}>uH-cnZU>Z7Vs&fz0p^*8E%=#)t8yR55l8m}TQx^<Q_6izaV&KZ)!<Bk(znci$q
{jz2fE$HU#r__r`=0u0VwmfL3@fRHdh7YT^UZbkQX;~YUBg09K;6a$W`|(4{$r(TCD+-#}o9VM}eRO>H>t|YgkJ~%w1*ce@X0lH+
M6La*>&LH|lJ0EnwvZzX@f{o0$h+X^2#&7%(eSOnOpheE{T`dKmozekw1T5eb=84G{J`D-4m)k(xHh@)F&FxoA*}#|K+>J8E+=<z
d4_8aE7w#kj2UcGFO2Ni_YDM8f@_xDq|CeDEP;J$G$pv$2S**_+nLQHvCho3pmHn4rJ5Rf@(9iFzFopHnKFR-_3@aY^NA-juu)Ej
KI*ihbMHe1hG~0e_)w3he{Op6>1NE}=!gG(Yxu9OSINBgke#bRrXg<0>4|!~RuV82@F^B{XXbWB5t?zJB9nH%Gut>M)0P%UbdJFt
pJO?e11Bd36ESP(qb)vap+m8VUu7x`eye<CX{`a%WGxrD=~}_pQPXWJBS65?x;Jys0xQym&2ub5KA8y&o2j@`g|3u2&Yzjh=kxaW
5XRH+TPAMy7iqtb`wuT{pNYV4jyxYvVKi$Bjx|d0s~f3|dN+|W&u{<62%K|$^wH03-jK!PFLnxiE{9UqTz}FCclOI%-^b6Hl7Wxf
y0p(UG8|5yX<K?*Zl>aC+l*mD40-q3C)bHntIa56Nl`Ny%?Vl`jX6Fv=5Vls^jw`QgKx`;8xQ@d2m5b*bbRztN7S5HqXP4x8|S?q
BEjC(N4a(8DORW)c~gHAU3iyVIYX%AlA%L8nSgph&GeajQme6lHox`J@X=wvo)R&9l*HBV_Z+?q@2k)B%}0Cq=t}3?*~jGi{j{eR
w{}RbrIb}E$c(ek^-Vi-)23Q-JuO3fqYe<ew&5_mg<bp9O#9VY>DP1q8F17!n9#Rhao$sd>12UBEIKulZC*1!w2koqWvk3l(~HnY
*Jpmzs_ob_x_PVv?Cp+6-u1I)n!jqM`J-l<uV$Jj4-WP`lk(lK-{(EgH0-`8c4EFa_cZ>hnFjshGvCvspmH9N^szZ0#QDS?xqToM
r48_p{d#=VJ_79ol3<>9?ehGU=fI{<qB(K1ZDh<g)Et~7vu1MQQ@_?*q<G`a$3v2@y%?X6!3*~<A8pq4atQlO^ZR)w3GbiJiuBBn
rY`zbGmTJkw%cbEv-8tOGly@nO#y5=XbOqwn$N!!<1;@RwFS)q!LMbMuseO08T6iJLuN|1m7VyeR?{<8sTfH0zCO=u`lK5=N*>ne
_TIni`thFfQ6F`JR1K`DrC%$jYY*^7-x();CdXYaZIGmvkM=ai@7cV6sOudnu&%e_y$T;+b^ZKN*UzUtA=x~vvQ!-wOk_-tfF;bx
NGBroa=hV~>&**q#@YDSx&N9Uoj>|a(Vb6h@cLcJKf}>kz{aOC`fJWc*+z#Mde!4^YABf}oXc*~jE}w&>eH|P_~`LDW$XHgbl)1j
KH7FBW=B*|&B-&m&Oo2ParD3IdY@s8W}ZQECrEr3v=>2$IhpmI7?H!zkkP3Oexlh*@vk3=jx;kIYQ?YO+_aNJf3`fRXY|ow{d7jO
097_;E!SV#6L_tUGR@GRhT^l!2E@^T^Kpfn;ga2&N%OZp`eW`1IQ#9R<Kd|J=jfxy=jVlg7@u>52(K-DruA^N`^yW4QxiKnzYi}u
PNnwbsLgPuWJvj){(MhDcVnTapSAy`7n<jp)`!Dp{&hJ!LfXMX_5mIJ?TH_s+*;zb1EXZKnR%zL**tx;2S=U7+0Hm;0uLXZ`{&%#
C)bP5CQoB9^WkaCEvq)#@Tlk0!5>F)<vTt#%0S@HT(8<-x#|NP&KG7FIP7}(TL&!oeL5F7*#h|2jPuTxd^ozh!5s`4nON(VbJ43Z
_taM!jOXSz89>_de0^q|)uTtAm4}e+^y?j?P?1puH6z%scg8vMqv@Z<cksE{)Wzwb4GSQBbpPG2@4s<${GP+7G|e-2C;Uq&aelOa
o*FrAyk6+b^~fA{sfZaTf#?)VqY?QczXhvip7yezmuJONUwUiR_<!lwvmf%<%~J^(($N2TwomK4A=q@>u2n~RCF1RNPKehWUGs@;
pHJ#Osy5Q?(FcyIha)$yX7b7V6gy-6sG08i)J!YGLXNDzT%YH<c6tRnAwi5{f9~90MhN}esgLCXdBiA>LS7znwtz%Ad&4R{!rTuH
U-`)LGxMV(^P}B9;7%VrPsKWPzihpw4`>C<uO*mycKI_u+VZT34XN?PM=5<Dj(WR~hX2-f9v}VurW7N6=ec=Wgy~W4_~`#n!yi91
eEFyogjUE7(1(wjmFOPk>FJUA(M;To4<DUxe)MxTJELTFPuduHY#WWI9lIbu=0}t3$G_sJD(kQL(VgE5U_~&LRV*r+-Mojr;iLYJ
j?CSD@zMFsM|;5kp8uR5<zbZZW}KHA{`v6HjL<6qKYi3e1)Gu5i%&0937Hu6*G}vc-OZ-!Z2t#SUMxK
"""

NAMES = Spelling(
    zlib.decompress(b85decode("".join(_TABLE.split()))),
    levels=(-3.8, -2.27, -0.76, 0.62, 2.36, 4.12, 6.03, 8.32),
    cases={
        "^^L": -0.72,
        "^^U": 1.52,
        "^LL": -1.0,
        "^LU": 7.19,
        "^UL": -0.06,
        "^UU": 0.07,
        "LLL": -0.95,
        "LLU": 3.93,
        "LUL": -0.92,
        "LUU": 3.16,
        "ULL": -0.92,
        "ULU": 3.23,
        "UUL": 4.09,
        "UUU": -0.96,
    },
    most=(12.0, 17.0),
)
"""Of identifiers."""


@lru_cache(maxsize=4096)
def spelt_by_chance(text: str) -> bool:
    """Whether ``text``, of letters and what joins words, is spelt as no name is."""
    return NAMES.by_chance(text)


def seems_by_chance(text: str) -> bool:
    """Whether eight letters or more of ``text`` are likelier by chance than in a name.

    For what stands where the rest of a token is awaited; three of a hundred words do so too.
    """
    return max(NAMES.bits(text)) > 0
